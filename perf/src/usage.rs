//! What processes of this machine use (Linux).

use std::time::Duration;

use crate::Failure;

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
    fn this_process_is_known() {
        let own = std::process::id();
        assert!(resident(own).expect("of this process") > 0);
        assert!(parent(own).expect("of this process") > 0);
        // In this order: both grow while they are read.
        let without = processor(own).expect("its time");
        assert!(processor_with_children(own).expect("its time") >= without);
    }
}
