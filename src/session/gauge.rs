//! Measuring estimates against what providers reported for requests of this project.

use super::setup::Setup;
use crate::context::gauge::{Gauge, family};
use crate::domain::{Event, ModelRef, RequestEvent, ThreadId, Tokens};
use crate::store::registry::{Part, Registry};
use crate::store::{Layout, log, request};

/// As many threads are looked through, the newest first, and as many requests are gone by.
const MOST_THREADS: usize = 12;
const MOST_REQUESTS: usize = 60;

impl Setup {
    /// What earlier requests to models like this one say about an estimate. Reads logs and records; what does not read
    /// says nothing.
    #[must_use]
    pub fn gauge(&self, model: &ModelRef) -> Option<Gauge> {
        // Looking makes no registry.
        let path = self.layout.registry();
        if !path.is_file() {
            return None;
        }
        let threads = Registry::open(&path).and_then(|registry| registry.list(Part::All, MOST_THREADS)).ok()?;
        let mut pairs = Vec::new();
        // What a log from elsewhere says was reported nobody reported to us.
        for thread in threads.into_iter().filter(|thread| !thread.elsewhere) {
            measured(&self.layout, &thread.thread_id, model, &mut pairs);
            if pairs.len() >= MOST_REQUESTS {
                break;
            }
        }
        Gauge::of(&pairs)
    }
}

/// Adds what was estimated and reported for each request of a thread.
fn measured(layout: &Layout, thread: &ThreadId, model: &ModelRef, pairs: &mut Vec<(Tokens, Tokens)>) {
    let Ok(log) = layout.log(thread) else { return };
    for page in log::pages(&log) {
        let Ok(page) = page else { return };
        for record in page.into_records() {
            let Event::Request(RequestEvent::CognitionOut { model: answered, request, usage, .. }) = record.event
            else {
                continue;
            };
            if family(&answered) != family(model) || pairs.len() >= MOST_REQUESTS {
                continue;
            }
            let Ok(sent) = request::record(layout, thread, request) else { continue };
            let included = sent.layers.iter().filter(|layer| layer.decision == crate::domain::Decision::Included);
            pairs.push((included.map(|layer| layer.tokens.count).sum(), usage.prompt()));
        }
    }
}
