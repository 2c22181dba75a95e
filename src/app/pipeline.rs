//! What the screen tells of a thread's pipeline. Reads files, so it runs off the loop.

use crate::domain::{ContentHash, ThreadId};
use crate::session::people::clock;
use crate::session::pipeline::{self, Passage};
use crate::store::Layout;
use crate::store::console;
use crate::store::content::ContentStore;
use crate::workbench::PipelineLine;

/// As many prompts, requests and calls are told of, the newest.
const MOST: usize = 60;

/// Lines that extensions printed, the newest.
const MOST_PRINTED: usize = 200;

/// Lines of what one handler changed.
const MOST_LINES: usize = 40;

/// The value at which a thread is paused.
pub(super) fn paused(layout: &Layout, hash: &ContentHash) -> Result<String, String> {
    ContentStore::new(layout.objects()).text(hash).map_err(|error| error.to_string())
}

/// What handlers did, the newest first, and the value at a breakpoint.
pub(super) fn told(
    layout: &Layout,
    id: &ThreadId,
    at: Option<&ContentHash>,
) -> Result<(Vec<PipelineLine>, Option<String>), String> {
    let passages = pipeline::passages(layout, id).map_err(|error| error.to_string())?;
    let mut lines = Vec::new();
    for Passage { of, title, steps } in passages.iter().rev().take(MOST) {
        lines.push(PipelineLine::Of(format!("{of} · {title}")));
        for step in steps {
            let text = format!("{} · {} · {} ms", step.stage, step.ending(), step.took_ms);
            lines.push(PipelineLine::Step { handler: step.handler.clone(), text });
            lines.extend(step.said.lines().take(MOST_LINES).map(|line| PipelineLine::Detail(format!("│ {line}"))));
            let difference = pipeline::difference(layout, step).unwrap_or_default();
            let changed = difference.lines().filter(|line| !line.starts_with("@@"));
            lines.extend(changed.take(MOST_LINES).map(|line| PipelineLine::Detail(line.to_owned())));
        }
    }
    let printed = console::printed(layout, id, MOST_PRINTED).map_err(|error| error.to_string())?;
    if !printed.is_empty() {
        lines.push(PipelineLine::Of("console of the extensions, the newest last".to_owned()));
    }
    for line in printed {
        let mut text = line.text.lines();
        let first = format!("{} · {} · {}", clock(line.at), line.level, text.next().unwrap_or_default());
        lines.push(PipelineLine::Step { handler: line.extension, text: first });
        lines.extend(text.take(MOST_LINES).map(|line| PipelineLine::Detail(format!("│ {line}"))));
    }
    Ok((lines, at.and_then(|hash| paused(layout, hash).ok())))
}
