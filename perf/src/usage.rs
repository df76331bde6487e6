//! What processes of this machine use (Linux).

use std::time::Duration;

use crate::failure::{Failure, Unusable};

/// Clock ticks a second in `/proc`: the same on every architecture, whatever the kernel's own tick is.
const TICKS_PER_SECOND: u64 = 100;

/// Resident bytes of a process.
pub(crate) fn resident(pid: u32) -> Result<u64, Failure> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
    let kib: u64 = line.split_whitespace().nth(1).ok_or("no number")?.parse()?;
    Ok(kib * 1024)
}

/// Processor time that a process has used so far.
pub(crate) fn processor(pid: u32) -> Result<Duration, Failure> {
    Ok(ticks(Stat::of(pid)?.own))
}

/// Processor time that a process and its children have used so far, those that ended with them.
pub(crate) fn processor_with_children(pid: u32) -> Result<Duration, Failure> {
    let parent = Stat::of(pid)?;
    let mut all = parent.own + parent.ended_children;
    for entry in std::fs::read_dir("/proc")? {
        let Some(other) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // One that ended meanwhile is of the children that ended, the next time.
        if let Ok(other) = Stat::of(other)
            && other.parent == pid
        {
            all += other.own;
        }
    }
    Ok(ticks(all))
}

/// Somebody whose processor time is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counted {
    /// What it is called in results.
    pub(crate) name: String,
    pid: u32,
    with_children: bool,
}

impl Counted {
    /// One process.
    pub(crate) fn one(name: &str, pid: u32) -> Self {
        Self { name: name.to_owned(), pid, with_children: false }
    }

    /// One process and those it started.
    pub(crate) fn family(name: &str, pid: u32) -> Self {
        Self { name: name.to_owned(), pid, with_children: true }
    }

    fn used(&self) -> Result<Duration, Failure> {
        if self.with_children { processor_with_children(self.pid) } else { processor(self.pid) }
    }
}

/// Processor time since a moment, each told apart. This process, which makes the load, is counted too.
pub(crate) struct Meter {
    all: Vec<(Counted, Duration)>,
}

/// What this process is called in results.
pub(crate) const LOAD: &str = "load";

impl Meter {
    pub(crate) fn start(processes: &[Counted]) -> Result<Self, Failure> {
        let own = Counted::one(LOAD, std::process::id());
        let all = processes.iter().chain([&own]);
        Ok(Self { all: all.map(|one| Ok((one.clone(), one.used()?))).collect::<Result<_, Failure>>()? })
    }

    /// What each used since then.
    pub(crate) fn used(&self) -> Result<Vec<(String, Duration)>, Failure> {
        let used =
            |(one, before): &(Counted, Duration)| Ok((one.name.clone(), one.used()?.saturating_sub(*before)));
        self.all.iter().map(used).collect()
    }
}

/// Lets this process, and those it starts, open as many files as the system allows it.
pub(crate) fn raise_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        eprintln!("perf: the limit of open files stays as it is: {error}");
    }
}

/// How many files this process may open.
pub(crate) fn open_files() -> u64 {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Files that a process has open beside the connections of clients, at most.
const OTHER_FILES: u64 = 300;

/// That this process, and a node that it starts, may have so many connections. `option`: that asks for them.
pub(crate) fn enough_files(option: &str, connections: usize) -> Result<(), Failure> {
    let most = open_files().saturating_sub(OTHER_FILES);
    if connections as u64 <= most {
        return Ok(());
    }
    let limit = open_files();
    let why = format!("a process may open {limit} files here (ulimit -n), so at most {most} are possible");
    Err(Unusable::because(format!("{option} {connections}: {why}")))
}

/// Who started a process.
pub(crate) fn parent(pid: u32) -> Result<u32, Failure> {
    Ok(Stat::of(pid)?.parent)
}

fn ticks(count: u64) -> Duration {
    Duration::from_millis(count * 1000 / TICKS_PER_SECOND)
}

/// What `/proc/PID/stat` tells; times in ticks.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    own: u64,
    ended_children: u64,
}

impl Stat {
    fn of(pid: u32) -> Result<Self, Failure> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{pid}/stat"))?)
    }

    fn parse(line: &str) -> Result<Self, Failure> {
        // The name of the program may hold anything, brackets and spaces too.
        let (_, fields) = line.rsplit_once(')').ok_or("no name in stat")?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let number =
            |at: usize| -> Result<u64, Failure> { Ok(fields.get(at).ok_or("stat is too short")?.parse()?) };
        Ok(Self {
            parent: u32::try_from(number(1)?)?,
            own: number(11)? + number(12)?,
            ended_children: number(13)? + number(14)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_is_passed_over() {
        let line = "42 (a (b) c) S 7 42 42 0 -1 4194560 1 2 3 4 100 20 5 6 20 0 1 0 99 0 0";
        let stat = Stat::parse(line).expect("a line of /proc");
        assert_eq!(stat, Stat { parent: 7, own: 120, ended_children: 11 });
        assert_eq!(ticks(stat.own), Duration::from_millis(1200));
    }

    #[test]
    fn a_line_that_ends_early_is_refused() {
        assert!(Stat::parse("42 (a) S 7 42").is_err());
    }

    #[test]
    fn a_meter_tells_what_was_used_since() {
        let own = std::process::id();
        let meter = Meter::start(&[Counted::family("own", own)]).expect("this process");
        let busy = std::time::Instant::now();
        while busy.elapsed() < Duration::from_millis(60) {}
        let used = meter.used().expect("still there");
        assert_eq!(used.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["own", LOAD]);
        assert!(used.iter().all(|(_, time)| *time >= Duration::from_millis(10)), "{used:?}");
    }

    #[test]
    fn more_connections_than_files_are_refused() {
        enough_files("--receivers", 1).expect("so many are possible");
        let said = enough_files("--receivers", usize::MAX).expect_err("too many").to_string();
        assert!(said.starts_with(&format!("--receivers {}: a process may open ", usize::MAX)), "{said}");
    }

    #[test]
    fn this_process_is_known() {
        let own = std::process::id();
        assert!(resident(own).expect("of this process") > 0);
        assert!(parent(own).expect("of this process") > 0);
        // In this order: both grow while they are read.
        let without = processor(own).expect("its time");
        assert!(processor_with_children(own).expect("its time") >= without);
    }
}
