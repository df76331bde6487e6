//! The one place that opens connections to PostgreSQL.
//!
//! Every connection of the product (pool, notifier, listener, migrations) is opened here, so all have the same
//! TLS, the same keepalives, and insist on a primary. Whoever asks gets client and connection apart:
//! the connection is a future that must be polled, and its owner may poll it for
//! notifications (`poll_message`).

use std::path::PathBuf;
use std::time::Duration;

use domain::Invalid;
use tokio_postgres::config::{Config, Host, TargetSessionAttrs};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::StoreError;
use crate::postgres::pool::as_lent;
use crate::postgres::settings::DatabaseSettings;
use crate::postgres::sqlstate;
use crate::postgres::tls::{self, Protection};

/// The stream below a connection once TLS is decided.
pub type TlsStream = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;

/// The driving half of a connection: nothing happens unless somebody polls it. Await it, or
/// `poll_fn(|cx| connection.poll_message(cx))` to see notifications.
pub type Connection = tokio_postgres::Connection<Socket, TlsStream>;

const URL_FIELD: &str = "database.url";
const URL_ALLOWED: &str =
    "postgres://user:password@host:port/database?sslmode=MODE, special characters percent-encoded";

/// Opens connections; cheap to clone.
#[derive(Clone)]
pub struct Connector {
    config: Config,
    tls: MakeRustlsConnect,
    timeout: Duration,
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Connector").field(&address(&self.config)).finish()
    }
}

/// Opens one connection as those of the pool, named `switchboard/<purpose>` where the database lists its sessions.
///
/// # Errors
///
/// `Settings` when the URL is not good; `Unavailable` when no primary answers in `connect_timeout`.
pub async fn connect(settings: &DatabaseSettings, purpose: &str) -> Result<(Client, Connection), StoreError> {
    as_lent(Connector::new(settings, purpose)?, settings).connect().await
}

impl Connector {
    /// Reads the URL and the certificates it names; opens nothing yet.
    ///
    /// # Errors
    ///
    /// `Settings`: names the field and what is allowed, never the password.
    pub fn new(settings: &DatabaseSettings, purpose: &str) -> Result<Self, StoreError> {
        settings.check()?;
        let Target { mut config, protection, root_file } = parse(&settings.url)?;
        if let Some(password) = &settings.password {
            if config.get_password().is_some() {
                return Err(Invalid::described(
                    "database.password",
                    "a second password",
                    "nothing while database.url has a password",
                )
                .into());
            }
            config.password(password);
        }
        let tls = tls::connector(protection, root_file.as_deref())
            .map_err(|text| Invalid::described(URL_FIELD, text, "certificates that can be read"))?;
        config
            .ssl_mode(protection.ssl_mode())
            .application_name(format!("switchboard/{purpose}"))
            .target_session_attrs(TargetSessionAttrs::ReadWrite)
            .connect_timeout(settings.connect_timeout)
            .keepalives(true)
            .keepalives_idle(Duration::from_secs(10))
            .keepalives_interval(Duration::from_secs(3))
            .keepalives_retries(3)
            .tcp_user_timeout(Duration::from_secs(10));
        Ok(Self { config, tls, timeout: settings.connect_timeout })
    }

    /// Adds `-c name=value` to what the session starts with. Unlike `SET` it outlives `RESET ALL`.
    #[must_use]
    pub(super) fn with_session_setting(mut self, name: &str, value: &str) -> Self {
        let given = self.config.get_options().unwrap_or_default();
        let options = format!("{given} -c {name}={}", value.replace(' ', "\\ "));
        self.config.options(options.trim_start());
        self
    }

    /// Opens one connection.
    ///
    /// # Errors
    ///
    /// `Unavailable` when no primary answers in time.
    pub async fn connect(&self) -> Result<(Client, Connection), StoreError> {
        match tokio::time::timeout(self.timeout, self.open()).await {
            Ok(opened) => opened.map_err(|error| sqlstate::connect_error(&error)),
            Err(_) => Err(StoreError::Unavailable(format!("no answer within {:?}", self.timeout))),
        }
    }

    pub(super) async fn open(&self) -> Result<(Client, Connection), tokio_postgres::Error> {
        self.config.connect(self.tls.clone()).await
    }

    pub(super) const fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn tls(&self) -> MakeRustlsConnect {
        self.tls.clone()
    }
}

struct Target {
    config: Config,
    protection: Protection,
    root_file: Option<PathBuf>,
}

/// tokio-postgres knows neither `verify-full` nor `sslrootcert`, so both are taken out of the URL first. What is
/// wrong is never quoted: it may be a piece of the password.
fn parse(url: &str) -> Result<Target, Invalid> {
    let refuse = |given: &str| Invalid::described(URL_FIELD, given, URL_ALLOWED);
    if url.is_empty() {
        return Err(refuse("nothing"));
    }
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(refuse("a text that is no such URL"));
    }
    // A password may hold a bare question mark: the query begins behind the address.
    let address = url.find('@').unwrap_or(0);
    let question = url[address..].find('?').map_or(url.len(), |place| address + place);
    let (base, query) = (&url[..question], url[question..].trim_start_matches('?'));
    if base.matches('@').count() > 1 {
        // Read on, the end of the password would be taken for the host, and shown.
        return Err(refuse("a URL with more than one @"));
    }
    let (mut protection, mut root_file, mut rest) = (Protection::Prefer, None, Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("sslmode", mode)) => {
                protection = Protection::parse(mode)
                    .ok_or_else(|| Invalid::new("database.url sslmode", mode, Protection::ALLOWED))?;
            }
            Some(("sslrootcert", file)) => root_file = Some(PathBuf::from(percent_decoded(file))),
            _ => rest.push(pair),
        }
    }
    if root_file.is_some() && protection != Protection::VerifyFull {
        // libpq would verify by half with `require`. Whoever names roots means to verify.
        return Err(Invalid::described(
            "database.url sslrootcert",
            "roots that nothing is checked against",
            "sslrootcert with sslmode=verify-full",
        ));
    }
    let plain = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
    let config: Config = plain.parse().map_err(|_| refuse("a URL that can't be read"))?;
    let nameless = |host: &Host| matches!(host, Host::Tcp(name) if name.is_empty());
    if config.get_hosts().is_empty() || config.get_hosts().iter().any(nameless) {
        return Err(refuse("a URL without a host"));
    }
    Ok(Target { config, protection, root_file })
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match code.filter(|_| *first == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A database URL as it may be shown: user, hosts and database, nothing else.
pub(super) fn shown(url: &str) -> String {
    if url.is_empty() {
        return String::new();
    }
    parse(url).map_or_else(|_| "a URL that can't be read".to_owned(), |target| address(&target.config))
}

fn address(config: &Config) -> String {
    let ports = config.get_ports();
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(index, host)| {
            let port = ports.get(index).or_else(|| ports.first()).copied().unwrap_or(5432);
            match host {
                Host::Tcp(name) => format!("{name}:{port}"),
                Host::Unix(path) => format!("{}:{port}", path.display()),
            }
        })
        .collect();
    let user = config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
    let database = config.get_dbname().map(|name| format!("/{name}")).unwrap_or_default();
    format!("postgres://{user}{}{database}", hosts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> String {
        parse(url).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn modes_are_read_from_the_url() {
        for (url, expected) in [
            ("postgres://sam@db.example.com/chat", Protection::Prefer),
            ("postgres://sam@db.example.com/chat?sslmode=disable", Protection::Disable),
            ("postgresql://sam@db.example.com/chat?connect_timeout=3&sslmode=require", Protection::Require),
            ("postgres://sam@db.example.com/chat?sslmode=verify-full", Protection::VerifyFull),
        ] {
            assert_eq!(parse(url).map(|target| target.protection), Ok(expected), "{url}");
        }
        let target =
            parse("postgres://sam@db.example.com/chat?sslmode=verify-full&sslrootcert=%2Fetc%2Fr%20s.pem");
        assert_eq!(target.map(|target| target.root_file), Ok(Some("/etc/r s.pem".into())));
    }

    #[test]
    fn what_is_wrong_is_said_and_never_quoted() {
        assert!(refused("").contains("nothing"), "{}", refused(""));
        assert!(refused("mysql://db.example.com").contains("postgres://"));
        assert!(refused("postgres://db.example.com/?sslmode=allow").contains("verify-full"));
        assert!(
            refused("postgres://db.example.com/?sslmode=require&sslrootcert=/r.pem").contains("verify-full")
        );
        assert!(refused("postgres:///chat").contains("without a host"), "{}", refused("postgres:///chat"));
        let secret = refused("postgres://sam:hunter2@hunter2@db.example.com/chat");
        assert!(!secret.is_empty() && !secret.contains("hunter"), "{secret}");
        assert!(parse("postgres://sam:hunter?sslmode=x@db.example.com/chat?sslmode=require").is_ok());
    }

    #[test]
    fn the_password_may_stand_beside_the_url_but_not_twice() {
        let settings = |url: &str| DatabaseSettings {
            password: Some("pa ss/w@rd".to_owned()),
            ..DatabaseSettings::with_url(url)
        };
        let connector =
            Connector::new(&settings("postgres://sam@db.example.com/chat"), "test").expect("good");
        assert_eq!(connector.config.get_password(), Some(&b"pa ss/w@rd"[..]));
        for url in ["postgres://sam:hunter2@db.example.com/chat", "postgres://sam@db.example.com/?password=x"]
        {
            let error = Connector::new(&settings(url), "test").expect_err("two passwords").to_string();
            assert!(error.contains("database.password") && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn session_settings_follow_those_of_the_url() {
        let settings =
            DatabaseSettings::with_url("postgres://sam@db.example.com/chat?options=-c%20work_mem%3D8MB");
        let connector = Connector::new(&settings, "test").expect("good settings");
        let connector = connector.with_session_setting("default_transaction_isolation", "read committed");
        assert_eq!(
            connector.config.get_options(),
            Some("-c work_mem=8MB -c default_transaction_isolation=read\\ committed")
        );
    }
}
