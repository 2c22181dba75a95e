//! Looking for the layer that makes a check of the answer come out otherwise: what it takes is told first, then it is done
//! by halving, and the layer that is found is a key away.

use super::bisect_list::{BisectAsked, BisectNews, BisectRow, Bisecting};
use super::message::{Effect, Level};
use super::model::Model;
use super::picker::{Choice, Entry, PickerKind};

impl Model {
    /// Begins to write the check by which the layer is looked for.
    pub(super) fn ask_check(&mut self) {
        let sent = self.browser.request.as_ref().is_some_and(|shown| shown.number.is_some());
        let as_if = self.is_as_if();
        let before = self.browser.bisecting.as_ref().map(|bisecting| bisecting.asked.check.clone());
        match self.list(PickerKind::Layers) {
            Some(picker) if sent && !as_if => {
                picker.naming = Some(before.unwrap_or_default());
                self.say(Level::Info, "a command that reads an answer on its input; its exit code is what it finds");
            }
            Some(_) if as_if => {
                self.say(Level::Info, "put the layers back first: the request as it was sent is looked into");
            }
            Some(_) | None => self.say(Level::Info, "only a request that was sent can be looked into"),
        }
    }

    /// Takes the check that was written, and asks what it takes; none where none was being written.
    pub(super) fn take_check(&mut self) -> Option<Vec<Effect>> {
        let check = self.list(PickerKind::Layers)?.naming.take()?.trim().to_owned();
        let shown = self.browser.request.as_ref()?;
        let (number, thread_id) = (shown.number?, shown.whole.as_ref()?.thread_id.clone());
        if check.is_empty() {
            return Some(Vec::new());
        }
        Some(self.look_for_layer(BisectAsked { thread_id, number, check }))
    }

    /// Opens the list of the search, and asks what it takes.
    pub(crate) fn look_for_layer(&mut self, asked: BisectAsked) -> Vec<Effect> {
        let bisecting = Bisecting { asked: asked.clone(), plan: None, begun: false, lines: Vec::new(), found: None };
        self.browser.bisecting = Some(bisecting);
        self.pick(PickerKind::Bisect, true);
        vec![Effect::Bisect { asked, begins: false }]
    }

    pub(super) fn bisect_told(&mut self, asked: &BisectAsked, news: BisectNews) {
        let Some(bisecting) = self.browser.bisecting.as_mut().filter(|bisecting| bisecting.asked == *asked) else {
            return;
        };
        match news {
            BisectNews::Plan(plan) => bisecting.plan = Some(plan),
            BisectNews::Line(line) if bisecting.begun => bisecting.lines.push(line),
            BisectNews::Line(_) => {}
            BisectNews::Found(found) => bisecting.found = Some(found),
        }
        self.refill(PickerKind::Bisect);
        if let Some(picker) = self.list(PickerKind::Bisect) {
            picker.choose(|choice| matches!(choice, Choice::Bisect(BisectRow::Layer(_) | BisectRow::Begin)));
        }
    }

    pub(super) fn bisect_entries(&self) -> Vec<Entry> {
        let Some(Bisecting { asked, plan, begun, lines, found }) = &self.browser.bisecting else { return Vec::new() };
        let entry = |row: BisectRow, label: String, detail: &str| Entry {
            usable: !matches!(row, BisectRow::Told(_)),
            choice: Choice::Bisect(row),
            label,
            detail: detail.to_owned(),
            current: false,
            body: None,
            group: None,
        };
        let told = |text: String| entry(BisectRow::Told(text.clone()), text, "");
        let mut all = vec![told(format!("{}#{}, checked by {}", asked.thread_id, asked.number, asked.check))];
        match plan {
            None => {}
            Some(Err(why)) => all.push(told(why.clone())),
            Some(Ok(plan)) => all.extend((!begun).then(|| entry(BisectRow::Begin, "Begin".to_owned(), plan))),
        }
        all.extend(lines.iter().cloned().map(told));
        match found {
            None => all.extend(begun.then(|| told("asking…".to_owned()))),
            // The last line said it.
            Some(Err(why)) => all.extend((lines.last() != Some(why)).then(|| told(why.clone()))),
            Some(Ok(layers)) => {
                let together = if layers.len() > 1 {
                    "makes the difference together with the others"
                } else {
                    "makes the difference"
                };
                all.extend(layers.iter().map(|id| entry(BisectRow::Layer(id.clone()), id.clone(), together)));
            }
        }
        all
    }

    /// Does what the chosen row is for.
    pub(super) fn take_bisect_row(&mut self, row: BisectRow) -> Vec<Effect> {
        let Some(bisecting) = &mut self.browser.bisecting else { return Vec::new() };
        match row {
            BisectRow::Begin => {
                bisecting.begun = true;
                let asked = bisecting.asked.clone();
                self.pick(PickerKind::Bisect, false);
                vec![Effect::Bisect { asked, begins: true }]
            }
            BisectRow::Layer(id) => {
                let number = bisecting.asked.number;
                self.browser.seeks = Some(id);
                self.show_request(Some(number))
            }
            BisectRow::Told(_) => {
                self.pick(PickerKind::Bisect, false);
                Vec::new()
            }
        }
    }

    /// Who closes the list while it goes on stops it: nobody would see what is paid for.
    pub(super) fn follow_bisect(&mut self) -> Option<Effect> {
        let goes_on =
            |bisecting: &Bisecting| bisecting.found.is_none() && (bisecting.begun || bisecting.plan.is_none());
        if !self.browser.bisecting.as_ref().is_some_and(goes_on) || self.list(PickerKind::Bisect).is_some() {
            return None;
        }
        if self.browser.bisecting.take().is_some_and(|bisecting| bisecting.begun) {
            self.say(Level::Info, "the search was stopped");
        }
        Some(Effect::StopBisect)
    }
}
