//! Process groups of tools: named so that they can be found again and ended, also after the process that started them
//! has died.

use crate::domain::event::Process;
use rustix::process::{Pid, Signal};
use std::time::{Duration, Instant};

/// As long may a keeper take whose worker died.
const KEEPER: Duration = Duration::from_millis(500);

/// The process `id`, which leads a group of its own.
#[must_use]
pub fn identify(id: u32) -> Process {
    Process { group: id, started: started(id) }
}

/// When a process was started, in the system's own ticks since it came up; `None` where that cannot be told, or when
/// there is no such process.
fn started(id: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The second field is a name in brackets that may hold anything; the start is the twentieth behind it.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    // One that has ended and that nobody has asked about runs no more.
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// The kernel's name for the time since it came up; empty where it has none. Start times count from then.
#[must_use]
pub fn boot() -> String {
    let read = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    read.map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// Sends `signal` to everyone in the group that `process` leads or led. A group that is gone is no failure. Groups 0 and 1
/// are no tool's: the system takes them for the sender's own and for everybody's.
pub fn signal(process: &Process, signal: Signal) {
    let group = i32::try_from(process.group).ok().filter(|group| *group > 1).and_then(Pid::from_raw);
    if let Some(group) = group {
        let _gone = rustix::process::kill_process_group(group, signal);
    } else {
        tracing::warn!(group = process.group, "this is no process group of a tool");
    }
}

/// Ends a group that another process left behind, if its leader is still there and was started when `process` says. A
/// number that was given to somebody else meanwhile is left alone, and so is a group whose leader is gone: nothing tells
/// any more whose it is. Where the system does not say when a process was started nothing is ended.
///
/// A keeper of a command ends by itself with all that it started, once nobody holds its input: it gets half a second.
pub fn end_left_behind(process: &Process) {
    let is_there = || process.started.is_some() && started(process.group) == process.started;
    let until = Instant::now() + KEEPER;
    while is_there() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    if is_there() {
        signal(process, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[test]
    fn only_the_group_that_was_named_is_ended() {
        let mut child = Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        let process = identify(child.id());
        assert!(process.started.is_some());
        end_left_behind(&Process { started: Some(1), ..process });
        end_left_behind(&Process { started: None, ..process });
        assert!(child.try_wait().unwrap().is_none(), "another process was killed");
        end_left_behind(&process);
        assert!(!child.wait().unwrap().success());
    }

    /// Sent for real: were one of these numbers taken, the test's own processes would end.
    #[test]
    fn s01_no_signal_goes_to_everybody() {
        for group in [0, 1, u32::MAX] {
            signal(&Process { group, started: None }, Signal::TERM);
        }
    }
}
