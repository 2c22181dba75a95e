//! Faults on demand, so that tests can see what a fault leaves behind. `LEVAIN_FAULT` names one; it happens once, right
//! after the first frame.

/// Where to panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// In the loop itself: the program ends.
    Loop,
    /// In a background task: the person is told, the program goes on.
    Task,
    /// In a thread of its own: the same.
    Thread,
}

/// The fault that was asked for.
pub(super) fn asked() -> Option<Fault> {
    match std::env::var("LEVAIN_FAULT").ok()?.as_str() {
        "panic-loop" => Some(Fault::Loop),
        "panic-task" => Some(Fault::Task),
        "panic-thread" => Some(Fault::Thread),
        _ => None,
    }
}

/// Panics where `fault` says.
#[expect(clippy::panic, reason = "this is what it is for")]
pub(super) fn happen(fault: Fault) {
    match fault {
        Fault::Loop => panic!("asked for by LEVAIN_FAULT"),
        Fault::Task => drop(tokio::spawn(async { panic!("asked for by LEVAIN_FAULT") })),
        Fault::Thread => drop(std::thread::spawn(|| panic!("asked for by LEVAIN_FAULT"))),
    }
}
