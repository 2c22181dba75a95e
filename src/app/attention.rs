//! How a person who looks elsewhere is called, as the settings say.

use crate::config::Notifications;
use crate::session::Setup;
use crate::terminal::attention::Notify;

/// How somebody who looks elsewhere is called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calls {
    pub(super) bell: bool,
    pub(super) notify: Option<Notify>,
    /// Whether the window is called after what the thread does.
    pub(super) title: bool,
}

impl Calls {
    pub(super) fn of(setup: &Setup) -> Self {
        let notify = match setup.config.notifications.value {
            Notifications::Auto => std::env::var("TERM").ok().and_then(|term| Notify::known(&term)),
            Notifications::Osc9 => Some(Notify::Osc9),
            Notifications::Osc777 => Some(Notify::Osc777),
            Notifications::Off => None,
        };
        Self { bell: setup.config.bell.value, notify, title: setup.config.window_title.value }
    }
}
