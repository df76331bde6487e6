//! What a deployment takes, computed: database work, notifications and memory against sends, nodes, rooms and connections.
//!
//! A model of this design and not a measurement. What one thing costs is measured by the scenarios (`sends`, `gateway_fanout_multi`, `notify`,
//! `presence_writes`, `idle_connections`, `reconnect_storm`) and given as [`Costs`]; how often it happens follows from the design: every send is a row, sends that come
//! together share a commit, a commit is told to every node, and every gateway with somebody who listens reads the rows once. Where one database can't carry it, there are
//! *cells*: deployments that share nothing, each with its own database, people and rooms.

use std::fmt::Write as _;

use clap::Args;

/// What is asked of a deployment, and what its machines have.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Asked {
    /// Connections that are open.
    #[arg(long, default_value_t = 100_000.0)]
    connections: f64,
    /// Sends a second.
    #[arg(long, default_value_t = 2_000.0)]
    sends: f64,
    /// Connections that receive each of them.
    #[arg(long, default_value_t = 20.0)]
    receivers: f64,
    /// Connections of one gateway at most, whatever its processor could do: so many come back at once when it dies.
    #[arg(long, default_value_t = 25_000.0)]
    connections_per_gateway: f64,
    /// Cores of a gateway.
    #[arg(long, default_value_t = 4.0)]
    gateway_cores: f64,
    /// Cores of a database.
    #[arg(long, default_value_t = 16.0)]
    database_cores: f64,
    /// The part of them that may be used in normal times, in percent.
    #[arg(long, default_value_t = 50.0)]
    used: f64,
    /// Api and worker nodes of a cell: they listen too.
    #[arg(long, default_value_t = 6.0)]
    other_nodes: f64,
    /// Days for which events are kept.
    #[arg(long, default_value_t = 90.0)]
    days: f64,
    #[command(flatten)]
    costs: Costs,
}

/// What one thing costs: processor time in microseconds, memory and storage in bytes.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Costs {
    /// Gateway: a commit of sends, and what tells others of it.
    #[arg(long, default_value_t = 105.0, help_heading = COSTS)]
    gateway_commit: f64,
    /// Gateway: each send in it, from the frame to the acknowledgement.
    #[arg(long, default_value_t = 22.0, help_heading = COSTS)]
    gateway_send: f64,
    /// Gateway: a frame to a connection, alone in its write.
    #[arg(long, default_value_t = 7.0, help_heading = COSTS)]
    gateway_delivery: f64,
    /// Gateway: a connection for a second, heartbeat and presence.
    #[arg(long, default_value_t = 1.5, help_heading = COSTS)]
    gateway_connection: f64,
    /// Gateway: resident memory of a connection.
    #[arg(long, default_value_t = 7_080.0, help_heading = COSTS)]
    connection_bytes: f64,
    /// The kernel's memory of an idle socket.
    #[arg(long, default_value_t = 4_096.0, help_heading = COSTS)]
    socket_bytes: f64,
    /// Database: a commit of sends.
    #[arg(long, default_value_t = 260.0, help_heading = COSTS)]
    database_commit: f64,
    /// Database: each send in it.
    #[arg(long, default_value_t = 23.0, help_heading = COSTS)]
    database_send: f64,
    /// Database: a NOTIFY.
    #[arg(long, default_value_t = 40.0, help_heading = COSTS)]
    database_notify: f64,
    /// Database: each session that it wakes.
    #[arg(long, default_value_t = 5.0, help_heading = COSTS)]
    database_wake: f64,
    /// Database: a read of the log by a gateway that was told.
    #[arg(long, default_value_t = 100.0, help_heading = COSTS)]
    database_read: f64,
    /// Database: each event in it.
    #[arg(long, default_value_t = 5.0, help_heading = COSTS)]
    database_event: f64,
    /// Database: the presence of a connection for a second.
    #[arg(long, default_value_t = 1.6, help_heading = COSTS)]
    database_presence: f64,
    /// Database: a client that comes back with `resume`.
    #[arg(long, default_value_t = 800.0, help_heading = COSTS)]
    database_resume: f64,
    /// Database: storage of an event with its indexes.
    #[arg(long, default_value_t = 600.0, help_heading = COSTS)]
    event_bytes: f64,
}

const COSTS: &str = "What one thing costs (microseconds of a processor, bytes)";

/// Commits that one busy node makes in a second: by then sends wait for each other (`append.max_wait`).
const COMMITS: f64 = 350.0;
/// Notifications that one busy node sends in a second (`notifier.min_interval`).
const NOTIFICATIONS: f64 = 200.0;
/// Reads of the log for one notification at most: `relay.shards`.
const SHARDS: f64 = 4.0;
/// Reads of the log that one node makes in a second: each shard one at a time, more than a millisecond each.
const READS: f64 = 2_500.0;
/// Sessions of a node in the database: `database.pool_size` and three.
const SESSIONS: f64 = 19.0;
/// More gateways of one cell than anybody runs.
const MOST_GATEWAYS: f64 = 1_000.0;
/// More cells than anybody runs.
const MOST_CELLS: u32 = 100_000;

/// What one cell does in a second, and has.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cell {
    gateways: f64,
    commits: f64,
    notifications: f64,
    wakes: f64,
    reads: f64,
    events_read: f64,
    /// Busy cores.
    database: f64,
    /// Busy cores of one gateway.
    gateway: f64,
    /// Resident and kernel memory of one gateway, in bytes.
    memory: f64,
}

impl Asked {
    /// # Errors
    ///
    /// Names the option, what was given and what is allowed.
    fn is_good(&self) -> Result<(), String> {
        let costs = &self.costs;
        let within = |name: &str, given: f64, least: f64, most: f64| {
            if (least..=most).contains(&given) {
                return Ok(());
            }
            Err(format!("{name}: {given} was given, {least} to {most} is allowed"))
        };
        within("--connections", self.connections, 1.0, 1e11)?;
        within("--sends", self.sends, 0.001, 1e9)?;
        within("--receivers", self.receivers, 0.001, self.connections)?;
        within("--connections-per-gateway", self.connections_per_gateway, 1.0, 1e7)?;
        within("--gateway-cores", self.gateway_cores, 0.1, 1e4)?;
        within("--database-cores", self.database_cores, 0.1, 1e4)?;
        within("--used", self.used, 1.0, 100.0)?;
        within("--other-nodes", self.other_nodes, 0.0, 1e4)?;
        within("--days", self.days, 0.0, 36_500.0)?;
        for (name, cost) in [
            ("--gateway-commit", costs.gateway_commit),
            ("--gateway-send", costs.gateway_send),
            ("--gateway-delivery", costs.gateway_delivery),
            ("--gateway-connection", costs.gateway_connection),
            ("--connection-bytes", costs.connection_bytes),
            ("--socket-bytes", costs.socket_bytes),
            ("--database-commit", costs.database_commit),
            ("--database-send", costs.database_send),
            ("--database-notify", costs.database_notify),
            ("--database-wake", costs.database_wake),
            ("--database-read", costs.database_read),
            ("--database-event", costs.database_event),
            ("--database-presence", costs.database_presence),
            ("--database-resume", costs.database_resume),
            ("--event-bytes", costs.event_bytes),
        ] {
            within(name, cost, 0.0, 1e6)?;
        }
        Ok(())
    }

    /// The cores that may be busy of so many.
    fn usable(&self, cores: f64) -> f64 {
        cores * self.used / 100.0
    }

    /// One of so many cells, with the least gateways that carry its part.
    fn cell(&self, cells: f64) -> Cell {
        let mut gateways = (self.connections / cells / self.connections_per_gateway).ceil().max(2.0);
        loop {
            let cell = self.cell_of(cells, gateways);
            if cell.gateway <= self.usable(self.gateway_cores) || gateways > MOST_GATEWAYS {
                return cell;
            }
            gateways += 1.0;
        }
    }

    fn cell_of(&self, cells: f64, gateways: f64) -> Cell {
        let Costs { gateway_commit, gateway_send, gateway_delivery, gateway_connection, .. } = self.costs;
        let (connections, sends) = (self.connections / cells, self.sends / cells);
        let of_one = sends / gateways;
        let commits = gateways * of_one.min(COMMITS);
        let notifications = gateways * of_one.min(NOTIFICATIONS);
        // Receivers are anywhere: the part of the gateways that have one of a send. The sender's own reads nothing.
        let touched = 1.0 - (1.0 - 1.0 / gateways).powf(self.receivers);
        let events_read = sends * touched * (gateways - 1.0);
        let told = notifications * (gateways - 1.0) / gateways;
        let each = (sends * touched).min(told * SHARDS).min(READS);
        let wakes = notifications * (gateways + self.other_nodes);
        let reads = each * (gateways - 1.0);
        let gateway = commits / gateways * gateway_commit
            + of_one * gateway_send
            + sends * self.receivers / gateways * gateway_delivery
            + connections / gateways * gateway_connection;
        let costs = self.costs;
        let database = commits * costs.database_commit
            + sends * costs.database_send
            + notifications * costs.database_notify
            + wakes * costs.database_wake
            + reads * costs.database_read
            + events_read * costs.database_event
            + connections * costs.database_presence;
        Cell {
            gateways,
            commits,
            notifications,
            wakes,
            reads,
            events_read,
            database: database / 1e6,
            gateway: gateway / 1e6,
            memory: connections / gateways * (costs.connection_bytes + costs.socket_bytes),
        }
    }

    /// The least cells whose databases carry it; none when no number of them does.
    fn cells(&self) -> Option<(u32, Cell)> {
        let usable = self.usable(self.database_cores);
        let mut cells = 1;
        // Rooms do not reach over cells.
        while cells <= MOST_CELLS && self.connections / f64::from(cells) >= self.receivers {
            let cell = self.cell(f64::from(cells));
            if cell.database <= usable && cell.gateways <= MOST_GATEWAYS {
                return Some((cells, cell));
            }
            cells += 1 + cells / 50;
        }
        None
    }
}

/// The deployment that is asked for, as a table.
///
/// # Errors
///
/// A number that makes no sense, by its option; or that no number of cells carries it.
pub(crate) fn table(asked: &Asked) -> Result<String, String> {
    asked.is_good()?;
    let (cells, cell) = asked
        .cells()
        .ok_or("no number of cells carries this: one gateway's part alone is too much for a database")?;
    let count = f64::from(cells);
    let share = |cores: f64, of: f64| format!("{cores:.2} of {of:.0} ({:.0}%)", cores / of * 100.0);
    let back = asked.connections / count / cell.gateways * asked.costs.database_resume
        / 1e6
        / (asked.database_cores - cell.database).max(0.1);
    let stored = asked.sends / count * 86_400.0 * asked.days * asked.costs.event_bytes / 1e9;
    let rows = [
        ("cells", thousands(count)),
        ("connections of a cell", thousands(asked.connections / count)),
        ("sends/s of a cell", thousands(asked.sends / count)),
        ("gateways of a cell", thousands(cell.gateways)),
        ("connections of a gateway", thousands(asked.connections / count / cell.gateways)),
        ("memory of a gateway, with the kernel's", format!("{:.2} GB", cell.memory / 1e9)),
        ("busy cores of a gateway", share(cell.gateway, asked.gateway_cores)),
        ("deliveries/s of a gateway", thousands(asked.sends / count * asked.receivers / cell.gateways)),
        ("commits/s of a cell", thousands(cell.commits)),
        ("notifications/s of a cell", thousands(cell.notifications)),
        ("sessions woken by them/s", thousands(cell.wakes)),
        ("reads of the log/s", thousands(cell.reads)),
        ("events read/s", thousands(cell.events_read)),
        ("busy cores of the database", share(cell.database, asked.database_cores)),
        ("sessions of the database", thousands((cell.gateways + asked.other_nodes) * SESSIONS)),
        ("storage of the log", format!("{} GB", thousands(stored))),
        (
            "a gateway dies: its clients are back after, if the database is what limits them",
            format!("{back:.1} s"),
        ),
    ];
    let mut table = String::from("| what | computed |\n|---|---|\n");
    for (what, value) in rows {
        // A String takes whatever is written.
        let _ = writeln!(table, "| {what} | {value} |");
    }
    Ok(table)
}

/// Whole, with a comma between thousands.
fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        asked: Asked,
    }

    fn asked(options: &[&str]) -> Asked {
        Line::parse_from(["growth"].iter().chain(options)).asked
    }

    #[test]
    fn a_small_deployment_is_one_cell_of_two_gateways() {
        let (cells, cell) = asked(&["--connections=1000", "--sends=10"]).cells().expect("it can be");
        assert_eq!((cells, cell.gateways), (1, 2.0));
        assert!(cell.database < 0.1, "{cell:?}");
    }

    #[test]
    fn commits_and_notifications_stay_flat_as_sends_grow() {
        let few = asked(&["--sends=2000"]).cell_of(1.0, 4.0);
        let many = asked(&["--sends=20000"]).cell_of(1.0, 4.0);
        assert_eq!((few.commits, few.notifications), (many.commits, many.notifications));
        assert!(many.database > few.database);
    }

    #[test]
    fn what_wakes_costs_grows_with_the_square_of_busy_nodes() {
        let alone = &["--sends=100000", "--other-nodes=0"];
        let (few, many) = (asked(alone).cell_of(1.0, 10.0), asked(alone).cell_of(1.0, 20.0));
        assert!((many.wakes / few.wakes - 4.0).abs() < 1e-9);
    }

    #[test]
    fn what_one_database_cannot_carry_is_cells() {
        let (cells, cell) = asked(&["--connections=10000000", "--sends=200000"]).cells().expect("it can be");
        assert!(cells > 1);
        assert!(cell.database <= 8.0);
        assert!(cell.gateway <= 2.0);
    }

    #[test]
    fn more_of_anything_never_takes_less() {
        for option in ["connections", "sends", "receivers"] {
            let mut least = 0.0;
            for number in [1_000, 10_000, 100_000] {
                let cell = asked(&[&format!("--{option}={number}")]).cell_of(1.0, 8.0);
                assert!(cell.database + cell.gateway >= least, "{option} {number}");
                least = cell.database + cell.gateway;
            }
        }
    }

    #[test]
    fn numbers_that_make_no_sense_are_named() {
        let refused = |option: &str| table(&asked(&[option])).expect_err(option);
        assert_eq!(refused("--sends=0"), "--sends: 0 was given, 0.001 to 1000000000 is allowed");
        for option in [
            "--used=101",
            "--receivers=NaN",
            "--receivers=100001",
            "--days=-1",
            "--other-nodes=-1",
            "--gateway-delivery=inf",
            "--event-bytes=-1",
        ] {
            let name = option.split('=').next().expect("a name");
            assert!(refused(option).starts_with(name), "{option}");
        }
        assert!(refused("--database-presence=1000000").starts_with("no number of cells"));
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!([thousands(7.0), thousands(1234.4), thousands(1_000_000.0)], ["7", "1,234", "1,000,000"]);
        assert!(table(&asked(&[])).expect("a table").contains("| cells | 1 |"));
    }
}
