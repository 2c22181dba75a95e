//! How many clients look at a thread, and whether its worker lets more of them in.

use tokio::sync::watch;

/// Who is looking, and how the last one left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Presence {
    pub clients: usize,
    /// Whether the last one to leave said goodbye.
    pub orderly: bool,
    /// Whether the worker ends: nobody is let in any more.
    pub ends: bool,
}

/// Counts the clients of a worker. That one comes and that the worker ends for want of one are decided one after the other: a
/// client that came between the two would be taken for served, and what it said be lost with the worker.
#[derive(Debug)]
pub(super) struct Admission {
    presence: watch::Sender<Presence>,
    /// Clients that may look at a time.
    pub(super) most: usize,
}

impl Admission {
    pub(super) fn new(most: usize) -> Self {
        Self { presence: watch::channel(Presence::default()).0, most }
    }

    /// Counts a client, unless there are as many as may be or the worker ends.
    pub(super) fn enter(&self) -> bool {
        self.presence.send_if_modified(|presence| {
            let enters = !presence.ends && presence.clients < self.most;
            presence.clients += usize::from(enters);
            enters
        })
    }

    /// One of them is gone.
    pub(super) fn leave(&self, orderly: bool) {
        self.presence.send_modify(|presence| {
            presence.clients -= 1;
            presence.orderly = orderly;
        });
    }

    /// Lets nobody in from here on, unless somebody is there; whether nobody is.
    pub(super) fn end_alone(&self) -> bool {
        self.presence.send_if_modified(|presence| {
            presence.ends |= presence.clients == 0;
            presence.ends
        })
    }

    /// Lets nobody in from here on.
    pub(super) fn end(&self) {
        self.presence.send_modify(|presence| presence.ends = true);
    }

    /// Whether the worker ends.
    pub(super) fn is_over(&self) -> bool {
        self.presence.borrow().ends
    }

    pub(super) fn watch(&self) -> watch::Receiver<Presence> {
        self.presence.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_ends_alone_or_lets_a_client_in_but_never_both() {
        let admission = Admission::new(1);
        assert!(admission.enter() && !admission.enter(), "one may look");
        assert!(!admission.end_alone(), "somebody came before it was over");
        admission.leave(true);
        assert!(admission.end_alone() && !admission.enter(), "nobody would serve them");
    }
}
