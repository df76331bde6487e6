//! A pooler in transaction mode between a node and its database: LISTEN does not work through it, and nothing says so
//! but a test.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use localpg::tether::{self, OnParentDeath};
use tempfile::TempDir;
use testkit::port::Port;
use testkit::postgres::TestDatabase;
use tokio::net::TcpStream;
use tokio::process::Child;
use tokio::time::{sleep, timeout};

use crate::program::{open_dir, program, run};
use crate::world::PATIENCE;

/// PgBouncer before a database.
struct Pooler {
    port: Port,
    url: String,
    _child: Child,
    _dir: TempDir,
}

impl Pooler {
    async fn start(database: &TestDatabase) -> Self {
        let (dir, port) = (open_dir(), Port::reserve());
        // postgres://user:password@host:port/database
        let url = database.url();
        let (account, place) =
            url.split_once("://").and_then(|(_, rest)| rest.split_once('@')).expect("a URL");
        let (user, password) = account.split_once(':').expect("a password");
        let (address, name) = place.split_once('/').expect("a database");
        let address: SocketAddr = address.parse().expect("an address");
        let config = dir.path().join("pgbouncer.ini");
        let text = format!(
            "[databases]\n{name} = host={} port={} user={user} password={password}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = transaction\nignore_startup_parameters = extra_float_digits,options\n",
            address.ip(),
            address.port(),
            port.number()
        );
        fs::write(&config, text).expect("written");
        let log = File::create(dir.path().join("log")).expect("a file");
        let child = spawn(&config, log).await;
        let through = format!("postgres://{user}@127.0.0.1:{}/{name}", port.number());
        let pooler = Self { port, url: through, _child: child, _dir: dir };
        pooler.until_it_listens().await;
        pooler
    }

    async fn until_it_listens(&self) {
        let waiting = async {
            while TcpStream::connect(self.port.addr()).await.is_err() {
                sleep(Duration::from_millis(20)).await;
            }
        };
        let log = || fs::read_to_string(self._dir.path().join("log")).unwrap_or_default();
        timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("PgBouncer does not start: {}", log()));
    }
}

async fn spawn(config: &Path, log: File) -> Child {
    let debian = Path::new("/usr/sbin/pgbouncer");
    let pgbouncer = if debian.is_file() { debian } else { Path::new("pgbouncer") };
    let mut command = tether::command(pgbouncer, OnParentDeath::Kill);
    if rustix::process::geteuid().is_root() {
        // It refuses to run as root, and becomes this user by itself.
        command.args(["-u", "nobody"]);
    }
    command.arg(config).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).kill_on_drop(true);
    tether::spawn(command).await.expect("PgBouncer runs: cargo xtask tools installs it")
}

#[tokio::test]
async fn doctor_finds_a_pooler_in_transaction_mode() {
    let database = TestDatabase::empty().await;
    let mut migrate = program("migrate");
    migrate.env("SWITCHBOARD__DATABASE__URL", database.url());
    run(migrate).await.good();
    let pooler = Pooler::start(&database).await;
    let mut doctor = program("doctor");
    doctor.env("SWITCHBOARD__DATABASE__URL", &pooler.url);
    let ran = run(doctor).await;
    let fault = ran.out.lines().find(|line| line.starts_with("FAULT  listen"));
    assert!(fault.is_some_and(|line| line.contains("a pooler in transaction mode")), "{ran:?}");
    assert!(ran.out.contains("database.url must lead to the primary directly"), "{ran:?}");
    assert!(ran.out.contains("ok     database"), "{ran:?}");
    ran.refused(1, &["one thing is wrong"]);
}
