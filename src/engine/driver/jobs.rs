//! Waiting for work that runs off the loop, while who wants to stop is heard.
//!
//! What the driver does between two events (planning, encoding, reading images, looking at a tool's arguments, bringing the
//! log to disk) runs elsewhere, and may take long. A cancel is answered while it runs: what can be left alone is left
//! alone, and what cannot (a sync) is waited for, after which nothing else begins. Other commands wait for their turn.

use super::Audience;
use super::calls::Call;
use super::inbox::Request;
use super::prepare_error::Stopped;
use super::run::Driver;
use std::future::Future;
use std::pin::pin;

impl<A: Audience> Driver<A> {
    /// The result of `job`, unless somebody wants to stop before it is there.
    ///
    /// # Errors
    /// [`Stopped`]. What was to be done is for the machine to give up: the cancel is the next event.
    pub(super) async fn unless_stopped<T>(&mut self, job: impl Future<Output = T>) -> Result<T, Stopped> {
        let mut job = pin!(job);
        while !self.inbox.is_stopping() {
            tokio::select! {
                biased;
                request = self.inbox.listen() => self.hang_up_if(&request),
                result = &mut job => return Ok(result),
            }
        }
        Err(Stopped)
    }

    /// The result of `job`, which cannot be left alone. Who wants to stop is answered meanwhile.
    pub(super) async fn wait_for<T>(&mut self, job: impl Future<Output = T>) -> T {
        let mut job = pin!(job);
        loop {
            tokio::select! {
                biased;
                request = self.inbox.listen() => self.hang_up_if(&request),
                result = &mut job => return result,
            }
        }
    }

    /// What is paid for ends with the cancel; everything else when the cancel is an event.
    fn hang_up_if(&mut self, request: &Request) {
        if matches!(request, Request::Cancel) {
            self.call.iter_mut().for_each(Call::hang_up);
        }
    }
}
