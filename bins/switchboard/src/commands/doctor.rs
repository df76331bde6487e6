//! `switchboard doctor`: looks at what nodes need, one thing after the other, and says what to do.
//!
//! It changes nothing. What one look finds does not keep it from the next, so that one run tells all there is.

use std::cmp::Ordering;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use auth::KeyDriver;
use auth::keys::directory::Directory;
use auth::keys::store::{KeyStore as _, Stored};
use cluster::Listener;
use jiff::Timestamp;
use node::{NoDatabase, Settings};
use store::Store;
use store::postgres::{Facts, Postgres, inspect, is_importing, schema_version};

use crate::cluster::Role;
use crate::commands::{Failure, require_database};

mod embedded;
mod rights;

/// The oldest PostgreSQL that the statements are written for.
const OLDEST: u32 = 15;

/// Clocks that differ by more make logs hard to read, and fresh tokens of one node are refused by another.
const SKEW: Duration = Duration::from_secs(1);

/// How full the queue of notifications may be before somebody should look for who holds it up.
const QUEUE: f64 = 0.5;

pub(super) async fn run(settings: Settings, role: Option<Role>) -> Result<(), Failure> {
    let mut findings = Findings::default();
    if settings.is_embedded() && settings.embedded.file.exists() {
        embedded::look(&settings, &mut findings).await?;
        keys(&settings, &mut findings).await?;
        return findings.end();
    }
    require_database(&settings)?;
    match inspect(&settings.database).await {
        Ok(facts) => {
            server(&facts, &mut findings)?;
            connections(&settings, &facts, &mut findings)?;
            clocks(&facts, &mut findings)?;
            queue(&facts, &mut findings)?;
            listen(&settings, &mut findings).await?;
            if migrations(&settings, &mut findings).await? {
                rights::look(&settings, role, &mut findings).await?;
            }
        }
        Err(error) => match NoDatabase::explain(&settings.database, error).await {
            NoDatabase::Unreachable { place, said, advice } => {
                findings.bad("database", &format!("{place}: {said}"), advice)?;
            }
            NoDatabase::Other(error) => findings.bad("database", &error.to_string(), "see what it says")?,
        },
    }
    if role == Some(Role::Worker) {
        findings.good("keys", "workers need none")?;
    } else {
        keys(&settings, &mut findings).await?;
    }
    findings.end()
}

fn server(facts: &Facts, findings: &mut Findings) -> io::Result<()> {
    if facts.major < OLDEST {
        let found = format!("PostgreSQL {}", facts.version);
        return findings.bad("database", &found, &format!("use PostgreSQL {OLDEST} or newer"));
    }
    let trip = facts.round_trip.as_secs_f64() * 1000.0;
    findings.good("database", &format!("PostgreSQL {}, answers in {trip:.1} ms", facts.version))
}

fn connections(settings: &Settings, facts: &Facts, findings: &mut Findings) -> io::Result<()> {
    let Facts { connections, most_connections, .. } = facts;
    let found = format!("{connections} of {most_connections} in use");
    // The pool, the notifier, the listener, and the listener's own test.
    let node = settings.database.pool_size as u64 + 3;
    if connections + node > *most_connections {
        let advice = format!(
            "a node takes up to {node}: raise max_connections of PostgreSQL, or lower database.pool_size"
        );
        return findings.bad("sessions", &found, &advice);
    }
    findings.good("sessions", &format!("{found}; a node takes up to {node}"))
}

fn clocks(facts: &Facts, findings: &mut Findings) -> io::Result<()> {
    let ahead = facts.clock_ahead.as_secs_f64();
    if facts.clock_ahead.unsigned_abs() > SKEW + facts.round_trip / 2 {
        let found = format!("the database's clock is {ahead:+.1} s from this machine's");
        return findings.bad("clocks", &found, "let NTP set the clocks of both machines");
    }
    findings.good("clocks", &format!("{:+.0} ms apart", ahead * 1000.0))
}

fn queue(facts: &Facts, findings: &mut Findings) -> io::Result<()> {
    let found = format!("{:.0} % full", facts.notification_queue * 100.0);
    if facts.notification_queue > QUEUE {
        let advice = "a session that listens sits in a transaction or does not read: \
                      find it in pg_stat_activity and end it";
        return findings.bad("queue", &found, advice);
    }
    findings.good("queue", &found)
}

async fn listen(settings: &Settings, findings: &mut Findings) -> Result<(), Failure> {
    let connector = node::connector(settings, "doctor")?;
    match Listener::probe(connector, settings.listener.clone()).await {
        Ok(()) => findings.good("listen", "a notification came back through database.url")?,
        Err(error) => findings.bad(
            "listen",
            &error.to_string(),
            "database.url must lead to the primary directly: no pooler in transaction mode, no standby",
        )?,
    }
    Ok(())
}

/// False when tables may be missing that rights are about.
async fn migrations(settings: &Settings, findings: &mut Findings) -> io::Result<bool> {
    let version = match schema_version(&settings.database).await {
        Ok(version) => version,
        Err(error) => {
            findings.bad("migrations", &error.to_string(), "see what the others say")?;
            return Ok(true);
        }
    };
    if is_importing(&settings.database).await.unwrap_or(false) {
        let advice =
            "run `switchboard import` of the same export to its end, or begin again with a new database";
        findings.bad("import", "one is under way, or was cut off: no node serves this database", advice)?;
    }
    match version.database.cmp(&version.binary) {
        Ordering::Less => {
            let found = format!("{} of {} are applied", version.database, version.binary);
            findings.bad("migrations", &found, "run: switchboard migrate")?;
        }
        Ordering::Greater => {
            let found = format!("{} are applied, this release knows {}", version.database, version.binary);
            findings.bad("migrations", &found, "use the newer release")?;
        }
        Ordering::Equal => findings.good("migrations", &format!("all {} are applied", version.database))?,
    }
    Ok(version.database >= version.binary)
}

async fn keys(settings: &Settings, findings: &mut Findings) -> io::Result<()> {
    let (place, read) = match settings.signing_key.driver {
        KeyDriver::Dir => {
            let kept = Directory::at(settings.secrets.signing_key_dir.clone());
            (kept.place(), kept.load().await.map_err(Failure::from))
        }
        KeyDriver::Postgres => ("the database".to_owned(), sealed(settings).await),
    };
    let advice = match settings.signing_key.driver {
        KeyDriver::Dir => {
            "secrets.signing_key_dir must belong to whoever runs the nodes, and be shared by all of them"
        }
        KeyDriver::Postgres => "secrets.seal_key must be that of the nodes",
    };
    let stored = match read {
        Ok(Some(stored)) => stored,
        Ok(None) => {
            return findings.good("keys", &format!("the first api node makes the first one in {place}"));
        }
        Err(error) => return findings.bad("keys", &error.to_string(), advice),
    };
    let faults = stored.faults(Timestamp::now());
    if faults.is_empty() {
        return findings.good("keys", &format!("{} in {place}", stored.parts.len()));
    }
    for (fault, advice) in faults {
        findings.bad("keys", &fault.to_string(), &advice)?;
    }
    Ok(())
}

async fn sealed(settings: &Settings) -> Result<Option<Stored>, Failure> {
    let records = Postgres::look(&settings.database, &prometheus::Registry::new()).await?;
    let records: Arc<dyn Store> = Arc::new(records);
    let kept = auth::keys::store_of(&settings.signing_key, &settings.secrets, &records)?;
    Ok(kept.load().await?)
}

/// What was found so far.
#[derive(Default)]
struct Findings {
    faults: usize,
}

impl Findings {
    fn good(&self, what: &str, found: &str) -> io::Result<()> {
        writeln!(io::stdout(), "ok     {what:<10}  {found}")
    }

    fn bad(&mut self, what: &str, found: &str, advice: &str) -> io::Result<()> {
        self.faults += 1;
        writeln!(io::stdout(), "FAULT  {what:<10}  {found}\n       {:<10}  {advice}", "")
    }

    fn end(self) -> Result<(), Failure> {
        match self.faults {
            0 => Ok(()),
            1 => Err("one thing is wrong".into()),
            faults => Err(format!("{faults} things are wrong").into()),
        }
    }
}
