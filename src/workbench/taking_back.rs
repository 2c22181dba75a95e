//! Listing the files that a thread changed, and taking them back.

use super::changes::{ChangedFile, Changes, Stands, TakingBack, Which};
use super::context_browser::Preview;
use super::message::{Effect, Level};
use super::model::Model;
use super::overlay::Overlay;
use super::picker::{Choice, Entry, Picker, PickerKind};

/// A second word within so many milliseconds of the first takes back.
const AGAIN_WITHIN: u64 = 10_000;

/// The kind of preview that a changed file has.
const FILE: &str = "file";

impl Model {
    /// Asks for what the shown thread did to files: all of it, or what the answer to `request` did.
    pub(super) fn ask_changes(&mut self, request: Option<u32>) -> Vec<Effect> {
        let Some(thread_id) = self.meant_thread() else {
            self.say(Level::Info, "this thread has not begun");
            return Vec::new();
        };
        let which = Which { thread_id, request };
        self.browser.taking_back = TakingBack { which: Some(which.clone()), ..TakingBack::default() };
        self.pick(PickerKind::Changes, true);
        vec![Effect::LoadChanges(which)]
    }

    /// The same for the chosen block of the transcript.
    pub(super) fn ask_changes_of_block(&mut self) -> Vec<Effect> {
        let number = self.view.chosen_blocks().and_then(|(_, at)| self.request_of(at));
        if number.is_none() {
            self.say(Level::Info, "no answer belongs to this");
            return Vec::new();
        }
        self.ask_changes(number)
    }

    pub(super) fn changes_listed(&mut self, which: &Which, changes: Result<Changes, String>) {
        // What was asked for before may come late.
        if self.browser.taking_back.which.as_ref() != Some(which) {
            return;
        }
        match changes {
            Ok(changes) => {
                self.browser.taking_back.listed = changes;
                self.browser.preview = None;
                self.refill(PickerKind::Changes);
            }
            Err(why) => {
                if self.list(PickerKind::Changes).is_some() {
                    self.overlay = None;
                }
                self.say(Level::Error, why);
            }
        }
    }

    /// The files; above them, where there are several, all that can be taken back.
    pub(super) fn change_entries(&self) -> Vec<Entry> {
        let files = &self.browser.taking_back.listed;
        let entry = |label: String, detail: String, usable: bool, choice: Choice| {
            let (current, body, group) = (false, None, None);
            Entry { choice, label, detail, usable, current, body, group }
        };
        let open = files.iter().filter(|file| file.stands == Stands::AsLeft).count();
        let all = (open > 1).then(|| {
            let label = format!("Take back all {open} files");
            entry(label, String::new(), true, Choice::TakeBack(None))
        });
        let one = |(at, file): (usize, &ChangedFile)| {
            entry(file.path.clone(), file.told(), file.stands == Stands::AsLeft, Choice::TakeBack(Some(at)))
        };
        all.into_iter().chain(files.iter().enumerate().map(one)).collect()
    }

    /// The chosen file, while they are listed.
    #[must_use]
    pub fn chosen_change(&self) -> Option<&ChangedFile> {
        let Some(Overlay::Picker(picker)) = &self.overlay else { return None };
        let Choice::TakeBack(Some(at)) = picker.chosen()?.choice else { return None };
        self.browser.taking_back.listed.get(at)
    }

    /// Puts what taking back the chosen file changes beside the list.
    pub(super) fn follow_change(&mut self) {
        let Some(file) = self.chosen_change() else { return };
        if self.browser.preview.as_ref().is_none_or(|shown| shown.kind != FILE || shown.id != file.path) {
            let (id, text) = (file.path.clone(), Some(Ok(file.text.clone())));
            self.browser.preview = Some(Preview { kind: FILE, id, text, top: 0 });
        }
    }

    /// Takes back the chosen file, or all of them, the second time it is asked for.
    pub(super) fn take_back_files(&mut self, picker: Picker, at: Option<usize>) -> Vec<Effect> {
        self.overlay = Some(Overlay::Picker(picker));
        let TakingBack { which, listed: files, .. } = self.browser.taking_back.clone();
        let Some(which) = which else { return Vec::new() };
        let meant: Vec<&ChangedFile> = match at {
            Some(at) => files.get(at).into_iter().collect(),
            None => files.iter().filter(|file| file.stands == Stands::AsLeft).collect(),
        };
        if let [file] = meant.as_slice()
            && file.stands != Stands::AsLeft
        {
            self.say(Level::Info, format!("`{}` stays as it is: {}", file.path, file.told()));
            return Vec::new();
        }
        let paths: Vec<String> = meant.iter().map(|file| file.path.clone()).collect();
        let asked = self.browser.taking_back.asked.replace((paths.clone(), self.now));
        if asked.is_some_and(|(asked, at)| asked == paths && self.now.since(at) <= AGAIN_WITHIN) {
            self.browser.taking_back.asked = None;
            return vec![Effect::TakeBack(which, paths)];
        }
        let before = if which.request.is_some() { "that answer" } else { "the thread" };
        let text = match paths.as_slice() {
            [one] => format!("repeat to take back `{one}`: it becomes as it was before {before}"),
            all => format!("repeat to take back {} files: they become as they were before {before}", all.len()),
        };
        self.say(Level::Warning, text);
        Vec::new()
    }
}
