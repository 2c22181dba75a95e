//! What extensions may leave in a thread from one prompt or command to the next: what people read and the log keeps is bounded,
//! however often something is said.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Notices of one extension.
const NOTICES: usize = 50;
/// Messages that are sent in the person's name, of all extensions.
const MESSAGES: usize = 50;
/// Bytes of one entry.
const LARGEST_ENTRY: usize = 1 << 20;
/// Bytes of all entries.
const ENTRIES: usize = 4 << 20;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Allowance(Mutex<Used>);

#[derive(Debug, Default)]
struct Used {
    /// By the extension's name.
    notices: BTreeMap<String, usize>,
    messages: usize,
    entries: usize,
}

impl Allowance {
    fn used(&self) -> MutexGuard<'_, Used> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more notice of this extension: what is left of it, if anything.
    pub(super) fn notice(&self, from: &str, text: String) -> Option<String> {
        let mut used = self.used();
        let count = used.notices.entry(from.to_owned()).or_default();
        *count = count.saturating_add(1);
        match (*count).cmp(&(NOTICES + 1)) {
            Ordering::Less => Some(text),
            Ordering::Equal => Some(format!("{from}: it says more, which is left out until the next prompt")),
            Ordering::Greater => None,
        }
    }

    /// One more message, where so many wait already.
    ///
    /// # Errors
    /// The sentence for the extension, where that is too many.
    pub(super) fn message(&self, waiting: usize) -> Result<(), String> {
        let mut used = self.used();
        if used.messages + waiting >= MESSAGES {
            return Err(format!("no more than {MESSAGES} messages may wait"));
        }
        used.messages += 1;
        Ok(())
    }

    /// One more entry of so many bytes.
    ///
    /// # Errors
    /// The sentence for the extension, where that is too much.
    pub(super) fn entry(&self, bytes: usize) -> Result<(), String> {
        if bytes > LARGEST_ENTRY {
            return Err(format!("an entry may have no more than {} MB", LARGEST_ENTRY >> 20));
        }
        let mut used = self.used();
        if used.entries + bytes > ENTRIES {
            return Err(format!("no more than {} MB of entries may be left before the next prompt", ENTRIES >> 20));
        }
        used.entries += bytes;
        Ok(())
    }

    /// Counts from the beginning again. Answers with what was left out, in words.
    pub(super) fn start_again(&self) -> Vec<String> {
        let Used { notices, .. } = std::mem::take(&mut *self.used());
        let left_out = notices.into_iter().filter(|(_, count)| *count > NOTICES);
        left_out.map(|(from, count)| format!("{from}: {} notices were left out", count - NOTICES)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Allowance, ENTRIES, LARGEST_ENTRY, MESSAGES, NOTICES};

    #[test]
    fn a_flood_is_counted_and_not_left() {
        let allowance = Allowance::default();
        let left = |count: usize| (0..count).filter_map(|_| allowance.notice("e.ts", "x".into())).count();
        assert_eq!((left(NOTICES), left(1_000)), (NOTICES, 1));
        assert_eq!(allowance.notice("other.ts", "x".into()), Some("x".into()));
        assert_eq!((0..1_000).filter(|_| allowance.message(0).is_ok()).count(), MESSAGES);
        assert!(allowance.entry(LARGEST_ENTRY + 1).is_err());
        let entries = (0..1_000).filter(|_| allowance.entry(LARGEST_ENTRY).is_ok()).count();
        assert_eq!(entries, ENTRIES / LARGEST_ENTRY);
        assert_eq!(allowance.start_again(), ["e.ts: 1000 notices were left out"]);
        assert!(
            allowance.message(0).is_ok()
                && allowance.message(MESSAGES).is_err()
                && allowance.entry(1).is_ok()
                && left(1) == 1
        );
        assert!(allowance.start_again().is_empty());
    }
}
