//! Process groups of tools: named so that they can be found again and ended, also after the process that started them
//! has died.

use crate::domain::event::Process;
use rustix::process::{Pid, Signal};

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
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Sends `signal` to everyone in the group that `process` leads or led. A group that is gone is no failure.
pub fn signal(process: &Process, signal: Signal) {
    if let Some(group) = i32::try_from(process.group).ok().and_then(Pid::from_raw) {
        let _gone = rustix::process::kill_process_group(group, signal);
    }
}

/// Ends a group that another process left behind. A number that has been given to somebody else meanwhile is left
/// alone: its leader was started at another time.
///
/// Where the system does not tell when a process was started nothing is ended.
pub fn end_left_behind(process: &Process) {
    if process.started.is_none() {
        return;
    }
    match started(process.group) {
        // The leader is gone. Its number is given to nobody while others are in its group, so this group is ours or
        // there is none.
        None => signal(process, Signal::KILL),
        now if now == process.started => signal(process, Signal::KILL),
        Some(_) => {}
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
        assert!(child.try_wait().unwrap().is_none(), "a stranger was killed");
        end_left_behind(&process);
        assert!(!child.wait().unwrap().success());
    }
}
