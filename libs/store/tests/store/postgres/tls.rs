//! TLS to the database, with certificates made here.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use store::StoreError;
use store::postgres::{DatabaseSettings, connect};
use testkit::postgres::{OwnServer, TestDatabase};

/// A server that has a certificate for `localhost`, the root that signed it, and one that did not.
struct Secured {
    server: OwnServer,
    files: tempfile::TempDir,
}

impl Secured {
    async fn start() -> Self {
        let server = OwnServer::fast().await;
        let files = tempfile::tempdir().expect("a folder");
        let (root, issuer) = authority();
        let (stranger, _) = authority();
        std::fs::write(files.path().join("root.pem"), root).expect("written");
        std::fs::write(files.path().join("stranger.pem"), stranger).expect("written");
        std::fs::write(files.path().join("none.pem"), "no certificate").expect("written");
        let (certificate, certificate_key) = signed_by(&issuer);
        let data = ask(&server, "SHOW data_directory").await;
        give(Path::new(&data), "server.crt", &certificate);
        give(Path::new(&data), "server.key", &certificate_key);
        ask(&server, "ALTER SYSTEM SET ssl = on").await;
        ask(&server, "SELECT pg_reload_conf()").await;
        let secured = Self { server, files };
        secured.until_it_has_tls().await;
        secured
    }

    /// The reload is noticed when it is; nothing tells of it.
    async fn until_it_has_tls(&self) {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while self.tls("localhost", "sslmode=require").await.is_err() {
            assert!(std::time::Instant::now() < deadline, "the server never took its certificate");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    /// Connects and answers whether the connection is encrypted.
    async fn tls(&self, host: &str, query: &str) -> Result<bool, StoreError> {
        let url = self.server.url();
        let base = url.split('?').next().expect("a URL").replace("127.0.0.1", host);
        assert!(base.contains(host), "{host} is not in the URL of the server");
        encrypted(&format!("{base}?{query}")).await
    }
}

async fn encrypted(url: &str) -> Result<bool, StoreError> {
    let (client, connection) = connect(&DatabaseSettings::with_url(url), "tls").await?;
    let connection = tokio::spawn(connection);
    let row = client.query_one("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()", &[]).await;
    connection.abort();
    Ok(row.expect("an answer").get(0))
}

async fn ask(server: &OwnServer, sql: &str) -> String {
    let (client, connection) =
        connect(&DatabaseSettings::with_url(server.url()), "tls").await.expect("a connection");
    let connection = tokio::spawn(connection);
    let rows = client.simple_query(sql).await.expect("an answer");
    connection.abort();
    rows.iter()
        .find_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        })
        .unwrap_or_default()
}

/// A root: its certificate as PEM, and what signs with it.
fn authority() -> (String, Issuer<'static, KeyPair>) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let pem = params.self_signed(&key).expect("a certificate").pem();
    (pem, Issuer::new(params, key))
}

/// A certificate for `localhost` and its key, as PEM.
fn signed_by(root: &Issuer<'static, KeyPair>) -> (String, String) {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
    let certificate = params.signed_by(&key, root).expect("a certificate");
    (certificate.pem(), key.serialize_pem())
}

/// Puts a file into the server's data directory, owned as that is: the server takes no other key.
fn give(data: &Path, name: &str, text: &str) {
    let path = data.join(name);
    std::fs::write(&path, text).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("private");
    let owner = std::fs::metadata(data).expect("the data directory");
    chown(&path, Some(owner.uid()), Some(owner.gid())).expect("given");
}

#[tokio::test]
async fn each_mode_does_what_it_says() {
    let secured = Secured::start().await;
    for (mode, expected) in [("disable", false), ("prefer", true), ("require", true)] {
        for host in ["127.0.0.1", "localhost"] {
            let outcome = secured.tls(host, &format!("sslmode={mode}")).await;
            assert_eq!(outcome.expect("connected"), expected, "{mode} {host}");
        }
    }
    let verified = |root: &str| format!("sslmode=verify-full&sslrootcert={}", secured.file(root).display());
    assert!(secured.tls("localhost", &verified("root.pem")).await.expect("the right root and name"));

    let wrong_name = secured.tls("127.0.0.1", &verified("root.pem")).await;
    assert!(matches!(wrong_name, Err(StoreError::Unavailable(_))), "{wrong_name:?}");
    let wrong_root = secured.tls("localhost", &verified("stranger.pem")).await;
    assert!(matches!(wrong_root, Err(StoreError::Unavailable(_))), "{wrong_root:?}");
    // No root of the operating system signed it, or it has none.
    let native = secured.tls("localhost", "sslmode=verify-full").await;
    assert!(matches!(native, Err(StoreError::Unavailable(_) | StoreError::Settings(_))), "{native:?}");
    for file in ["missing.pem", "none.pem"] {
        let unread = secured.tls("localhost", &verified(file)).await;
        assert!(
            matches!(&unread, Err(StoreError::Settings(error)) if error.to_string().contains(file)),
            "{unread:?}"
        );
    }
}

#[tokio::test]
async fn without_tls_only_the_lenient_modes_connect() {
    let database = TestDatabase::empty().await;
    let url = database.url();
    let base = url.split('?').next().expect("a URL");
    for mode in ["disable", "prefer"] {
        assert!(!encrypted(&format!("{base}?sslmode={mode}")).await.expect("connected"), "{mode}");
    }
    let refused = encrypted(&format!("{base}?sslmode=require")).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
}
