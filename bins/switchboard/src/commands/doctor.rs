//! `switchboard doctor`: looks at what nodes need, one thing after the other, and says what to do.

use cluster::Listener;
use domain::NodeId;
use jiff::Timestamp;
use node::{Settings, VERSION};
use store::nodes::NodeInfo;
use store::postgres::schema_version;

use crate::commands::{Failure, require_database, store};

/// Clocks that differ by more make logs and token times hard to understand.
const SKEW_SECONDS: f64 = 1.0;

pub(super) async fn run(settings: Settings) -> Result<(), Failure> {
    require_database(&settings)?;
    let mut findings = Findings::default();
    let version = match schema_version(&settings.database).await {
        Ok(version) => version,
        Err(error) => {
            findings.bad("database", &error.to_string(), "check database.url, and that PostgreSQL runs");
            return findings.end();
        }
    };
    findings.good("database", "it answers");
    match version.database.cmp(&version.binary) {
        std::cmp::Ordering::Less => {
            let found = format!("migration {} of {}", version.database, version.binary);
            findings.bad("migrations", &found, "run: switchboard migrate");
            return findings.end();
        }
        std::cmp::Ordering::Greater => {
            let found = format!("migration {}, this release knows {}", version.database, version.binary);
            findings.bad("migrations", &found, "use the newer release");
        }
        std::cmp::Ordering::Equal => findings.good("migrations", &format!("all {}", version.database)),
    }
    listen(&settings, &mut findings).await?;
    clocks(&settings, &mut findings).await?;
    keys(&settings, &mut findings);
    findings.end()
}

async fn listen(settings: &Settings, findings: &mut Findings) -> Result<(), Failure> {
    let connector = node::connector(settings, "doctor")?;
    match Listener::probe(connector, settings.listener.clone()).await {
        Ok(()) => findings.good("listen", "notifications arrive"),
        Err(error) => findings.bad(
            "listen",
            &error.to_string(),
            "database.url must lead to the primary directly: no pooler in transaction mode, no standby",
        ),
    }
    Ok(())
}

/// Compares clocks by a heartbeat, which also shows that rows can be written.
async fn clocks(settings: &Settings, findings: &mut Findings) -> Result<(), Failure> {
    let store = store(settings).await?;
    let id = NodeId::new();
    let info = NodeInfo { id, role: "doctor".into(), version: VERSION.into(), name: "doctor".into() };
    let before = Timestamp::now();
    store.beat(&info).await?;
    let after = Timestamp::now();
    let seen = store.nodes().await?.into_iter().find(|node| node.info.id == id);
    store.leave(id).await?;
    let Some(seen) = seen else {
        findings.bad("clocks", "a heartbeat was written and is not there", "look at the log of PostgreSQL");
        return Ok(());
    };
    let middle = before.as_microsecond().midpoint(after.as_microsecond());
    let skew = (seen.seen_at.as_microsecond() - middle) as f64 / 1e6;
    if skew.abs() > SKEW_SECONDS {
        let found = format!("the database's clock is {skew:+.1} s from this machine's");
        findings.bad("clocks", &found, "run NTP on both machines");
    } else {
        findings.good("clocks", &format!("{:+.0} ms apart", skew * 1000.0));
    }
    Ok(())
}

fn keys(settings: &Settings, findings: &mut Findings) {
    let dir = &settings.secrets.signing_key_dir;
    match std::fs::read_dir(dir) {
        Ok(_) => findings.good("keys", &format!("{} can be read", dir.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            findings.good("keys", &format!("{} is made when the first node starts", dir.display()));
        }
        Err(error) => findings.bad(
            "keys",
            &format!("{}: {error}", dir.display()),
            "secrets.signing_key_dir must be readable for this user, and shared by all api and gateway nodes",
        ),
    }
}

/// What was found so far.
#[derive(Default)]
struct Findings {
    faults: usize,
}

impl Findings {
    fn good(&self, what: &str, found: &str) {
        println!("ok    {what:<10} {found}");
    }

    fn bad(&mut self, what: &str, found: &str, advice: &str) {
        self.faults += 1;
        println!("FAULT {what:<10} {found}\n      {:<10} {advice}", "");
    }

    fn end(self) -> Result<(), Failure> {
        match self.faults {
            0 => Ok(()),
            1 => Err("one thing is wrong".into()),
            faults => Err(format!("{faults} things are wrong").into()),
        }
    }
}
