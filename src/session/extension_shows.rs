//! What extensions have shown to whoever looks at their thread, and how they have it look.

use super::extension_text::{plain, styled};
use super::extension_thread::{ExtensionThread, called};
use crate::domain::{Indicator, Insertion, Look, Shown, ShownPlace};
use crate::extensions::Asker;
use serde_json::Value;

/// Letters of a notice.
const LONGEST_NOTICE: usize = 2_000;
/// Letters of what the person's desktop is to show.
const LONGEST_CALL: usize = 200;
/// Lines of a widget, as in pi.
const WIDGET_LINES: usize = 10;
/// Letters of the word for a folded thought.
const LONGEST_LABEL: usize = 60;
/// Marks that stand in turn before what the thread does, letters of each, and how long one stands: as often as pi changes them by
/// itself, at most.
const MOST_FRAMES: usize = 64;
const LONGEST_FRAME: usize = 12;
const FRAME_MS: (u64, u64) = (80, 10_000);

impl ExtensionThread {
    fn show(&self, key: String, place: ShownPlace, lines: &[String]) {
        if let Some((thread, _)) = self.thread.get().filter(|_| self.has_person()) {
            let lines = lines.iter().map(|line| styled(line)).collect();
            thread.show(Shown { key, place, lines });
        }
    }

    /// How the thread is to look; none where `name` says nothing of that.
    fn look(name: &str, arguments: &Value) -> Option<Look> {
        let flag = |name: &str| arguments.get(name).and_then(Value::as_bool);
        Some(match name {
            "ui.setWorkingIndicator" => Look::Indicator(indicator(arguments.get("options")?)),
            "ui.setWorkingVisible" => Look::HidesWorking(!flag("visible")?),
            "ui.setHiddenThinkingLabel" => {
                let label = arguments.get("label").and_then(Value::as_str).map(|label| short(label, LONGEST_LABEL));
                Look::ThoughtLabel(label.filter(|label| !label.trim().is_empty()))
            }
            "ui.setToolsExpanded" => Look::Unfolds(flag("expanded")?),
            "ui.wantsInput" => Look::HearsKeys(arguments.get("count").and_then(Value::as_u64)? > 0),
            _ => return None,
        })
    }

    /// What is shown to people.
    pub(super) fn shown(&self, name: &str, asker: &Asker, arguments: &Value) {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).map(str::to_owned);
        let key = || format!("{}:{}", called(asker), text("key").unwrap_or_default());
        let Some((thread, _)) = self.thread.get() else { return };
        if let Some(look) = Self::look(name, arguments) {
            if let Look::Unfolds(open) = look {
                self.components.unfolded(open);
            }
            if self.has_person() {
                thread.look(look);
            }
            return;
        }
        match name {
            "ui.notify" => {
                let level = text("type").filter(|level| level != "info");
                let level = level.map(|level| format!("{level}: ")).unwrap_or_default();
                let said = plain(&text("message").unwrap_or_default());
                let said: String = said.chars().take(LONGEST_NOTICE).collect();
                let from = called(asker);
                let said = format!("{from}: {level}{said}");
                self.allowance.notice(&from, said).into_iter().for_each(|text| thread.notice(text));
            }
            "ui.setEditorText" | "ui.pasteToEditor" if self.has_person() => {
                let text = plain(&text("text").unwrap_or_default());
                match self.moves_to() {
                    Some(to) => thread.move_on(to, text),
                    None if name == "ui.pasteToEditor" => thread.suggest(text, Insertion::Pasted),
                    None => {
                        let how = self.components.written(&text);
                        thread.suggest(text, how);
                    }
                }
            }
            "ui.setTitle" => {
                let title: Vec<String> = text("title").filter(|title| !title.trim().is_empty()).into_iter().collect();
                self.show("title".to_owned(), ShownPlace::Title, &title);
            }
            "ui.call" if self.has_person() => {
                let said = plain(&text("text").unwrap_or_default());
                thread.call(said.chars().take(LONGEST_CALL).collect());
            }
            "ui.setWorkingMessage" => {
                let message: Vec<String> = text("message").filter(|text| !text.trim().is_empty()).into_iter().collect();
                self.show("working".to_owned(), ShownPlace::Working, &message);
            }
            "ui.setStatus" => {
                self.show(key(), ShownPlace::Status, &text("text").into_iter().collect::<Vec<_>>());
            }
            "ui.setWidget" => {
                let is_below = text("placement").as_deref() == Some("belowEditor");
                let place = if is_below { ShownPlace::BelowDraft } else { ShownPlace::AboveDraft };
                let lines = arguments.get("lines").and_then(Value::as_array).into_iter().flatten();
                let mut lines: Vec<String> = lines.filter_map(Value::as_str).map(str::to_owned).collect();
                if lines.len() > WIDGET_LINES {
                    let more = lines.len() - WIDGET_LINES;
                    lines.truncate(WIDGET_LINES);
                    lines.push(format!("… {more} more lines"));
                }
                self.show(key(), place, &lines);
            }
            "ui.clear" => {
                self.components.cleared(&called(asker), arguments);
                let kind = text("kind").unwrap_or_default();
                let of_widget = [ShownPlace::AboveDraft, ShownPlace::BelowDraft];
                for place in of_widget.into_iter().filter(|_| kind == "widget") {
                    self.show(key(), place, &[]);
                }
                for place in [ShownPlace::Header, ShownPlace::Footer].into_iter().filter(|_| kind != "widget") {
                    self.show(format!("{}:{kind}", called(asker)), place, &[]);
                }
            }
            _ => {}
        }
    }
}

/// One line without styles, of so many letters at most.
fn short(text: &str, longest: usize) -> String {
    plain(text).lines().next().unwrap_or_default().chars().filter(|letter| !letter.is_control()).take(longest).collect()
}

/// The marks that an extension wants; none where it wants the screen's own.
fn indicator(options: &Value) -> Option<Indicator> {
    let frames = options.get("frames")?.as_array()?;
    let frames = frames.iter().filter_map(Value::as_str).take(MOST_FRAMES).map(|frame| short(frame, LONGEST_FRAME));
    let (least, most) = FRAME_MS;
    let interval_ms = options.get("intervalMs").and_then(Value::as_u64).unwrap_or_default().clamp(least, most);
    Some(Indicator { frames: frames.filter(|frame| !frame.is_empty()).collect(), interval_ms })
}
