//! The form in which a directive is told its inputs, and the draft of a thread that begins with them.

use super::composer::Composer;
use super::geometry;
use super::message::{DirectiveChoice, Effect, Level};
use super::model::Model;
use super::overlay::Overlay;
use super::thread_view::Link;
use crate::commands::Context;
use crate::domain::USUAL_DIRECTIVE;
use crate::domain::input::{self, BadInput, Input, Values};

/// The inputs of a directive while they are given.
#[derive(Clone, Debug)]
pub struct InputForm {
    pub directive: DirectiveChoice,
    /// One for each input, in the order in which the directive names them; never empty.
    pub fields: Vec<Field>,
    /// Place of the field that is written.
    pub at: usize,
}

/// One input and what it is given.
#[derive(Clone, Debug)]
pub struct Field {
    pub input: Input,
    /// Empty leaves the input to its default.
    pub text: Composer,
    /// Why the form was refused here.
    pub wrong: Option<String>,
}

impl Field {
    /// What can be chosen: values, with what stands for each. Where the input may be left out that is a choice too: its default
    /// where that is one of them, else the first.
    #[must_use]
    pub fn choices(&self) -> Vec<(String, String)> {
        let Input { default, required, .. } = &self.input;
        let options = self.input.options();
        let default = default.as_deref().filter(|default| !default.is_empty());
        let is_listed = default.is_some_and(|default| options.contains(&default));
        let left_out = match default {
            Some(default) => Some(format!("{default} (default)")),
            None if *required => None,
            None => Some("none".to_owned()),
        };
        let first = left_out.clone().filter(|_| !is_listed).map(|word| (String::new(), word));
        let option = |option: &str| match &left_out {
            Some(word) if is_listed && default == Some(option) => (String::new(), word.clone()),
            Some(_) | None => (option.to_owned(), option.to_owned()),
        };
        first.into_iter().chain(options.into_iter().map(option)).collect()
    }

    /// The place of what is given among `choices`.
    #[must_use]
    pub fn taken(&self, choices: &[(String, String)]) -> Option<usize> {
        let text = self.text.text();
        let is_default = !text.is_empty() && self.input.default.as_deref() == Some(text.as_str());
        let same = |value: &String| *value == text || is_default && value.is_empty();
        choices.iter().position(|(value, _)| same(value))
    }
}

impl InputForm {
    fn new(directive: DirectiveChoice, given: &Values) -> Self {
        let field = |input: &Input| {
            let mut text = Composer::default();
            text.set(given.get(&input.name).map_or("", String::as_str));
            Field { input: input.clone(), text, wrong: None }
        };
        Self { fields: directive.inputs.iter().map(field).collect(), directive, at: 0 }
    }

    /// What keys mean in it.
    pub(super) fn contexts() -> Vec<Context> {
        vec![Context::Form, Context::Text, Context::Anywhere]
    }

    /// Takes a letter, which it has always a use for: of choices it takes the next that begins with it.
    pub(super) fn letter(&mut self, letter: char) -> bool {
        match self.field().map(|field| field.input.options()) {
            Some(options) if !options.is_empty() => {
                let begins = |option: &&str| option.to_lowercase().starts_with(letter.to_ascii_lowercase());
                let found = options.iter().copied().find(begins).map(str::to_owned);
                if let Some(option) = found {
                    self.edit(|field| field.set(&option));
                }
            }
            Some(_) | None => self.edit(|field| field.type_letter(letter)),
        }
        true
    }

    /// Takes what is pasted, as [`Self::letter`].
    pub(super) fn paste(&mut self, text: &str) -> bool {
        self.change(|field| field.paste(text));
        true
    }

    /// Takes the choice before or after; whether the field has any.
    pub(super) fn choose(&mut self, step: isize) -> bool {
        let Some(field) = self.field() else { return false };
        if field.input.options().is_empty() {
            return false;
        }
        let all = field.choices();
        let last = all.len().saturating_sub(1);
        let next = field.taken(&all).map_or(0, |at| at.saturating_add_signed(step).min(last));
        let chosen = all.get(next).map(|(value, _)| value.clone()).unwrap_or_default();
        self.edit(|field| field.set(&chosen));
        true
    }

    /// Changes what is written; where one chooses, that empties the choice.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Composer)) {
        let chooses = self.field().is_some_and(|field| !field.input.options().is_empty());
        if chooses { self.edit(|field| field.set("")) } else { self.edit(change) }
    }

    /// The field that is written.
    #[must_use]
    pub fn field(&self) -> Option<&Field> {
        self.fields.get(self.at)
    }

    /// Changes the field that is written; it is not wrong any more.
    pub(super) fn edit(&mut self, change: impl FnOnce(&mut Composer)) {
        if let Some(field) = self.fields.get_mut(self.at) {
            field.wrong = None;
            change(&mut field.text);
        }
    }

    /// Goes on by `step` fields, around the end.
    pub(super) fn step(&mut self, step: isize) {
        let count = isize::try_from(self.fields.len()).unwrap_or(1).max(1);
        let at = isize::try_from(self.at).unwrap_or(0).saturating_add(step).rem_euclid(count);
        self.at = usize::try_from(at).unwrap_or(0);
    }

    /// One row up or down in the field, and from its edge to the next field.
    pub(super) fn vertical(&mut self, step: isize) {
        let Some(field) = self.fields.get_mut(self.at) else { return };
        let moved = if step < 0 { field.text.up() } else { field.text.down() };
        if !moved {
            self.at = self.at.saturating_add_signed(step).min(self.fields.len().saturating_sub(1));
        }
    }

    /// What was given.
    fn values(&self) -> Values {
        let given = self.fields.iter().map(|field| (field.input.name.clone(), field.text.text()));
        given.filter(|(_, text)| !text.is_empty()).collect()
    }

    /// The values, if the directive takes them; else the fields say what is wrong and the first of them is written.
    fn accept(&mut self) -> Option<Values> {
        let given = self.values();
        let Err(bad) = input::accept(&self.directive.inputs, given.clone()) else { return Some(given) };
        for field in &mut self.fields {
            let refused = bad.iter().find(|bad| bad.name() == field.input.name);
            field.wrong = refused.map(BadInput::in_its_field);
        }
        self.at = self.fields.iter().position(|field| field.wrong.is_some()).unwrap_or(self.at);
        None
    }

    pub(super) fn wrap(&mut self, width: u16) {
        for field in self.fields.iter_mut().filter(|field| field.text.width() != width) {
            field.text.wrap(width);
        }
    }
}

impl Model {
    /// What letters and editing keys go to: a field of the open form, else the draft.
    pub(super) fn writing(&mut self) -> &mut Composer {
        match &mut self.overlay {
            Some(Overlay::Form(form)) if form.at < form.fields.len() => &mut form.fields[form.at].text,
            Some(Overlay::Dialog(panel)) => &mut panel.text,
            _ => &mut self.composer,
        }
    }

    /// A directive was chosen: it is asked for its inputs, or a new thread of it begins.
    pub(super) fn begin(&mut self, directive: DirectiveChoice) -> Vec<Effect> {
        if let Some(refusal) = &directive.refusal {
            self.say(Level::Warning, format!("`{}` cannot be started: {refusal}", directive.id));
        } else if directive.inputs.is_empty() {
            self.begin_with(directive, Values::new());
        } else {
            self.ask_inputs(directive);
        }
        Vec::new()
    }

    /// Opens the form. What was given to the same directive before is there again.
    pub(super) fn ask_inputs(&mut self, directive: DirectiveChoice) {
        let kept = self.left_form.take_if(|form| form.directive.id == directive.id);
        let given = match &kept {
            Some(form) => form.values(),
            None if directive.id == self.directive => self.inputs.clone(),
            None => Values::new(),
        };
        self.overlay = Some(Overlay::Form(InputForm::new(directive, &given)));
        self.wrap_form();
    }

    pub(super) fn wrap_form(&mut self) {
        let width = geometry::form_width(self);
        if let Some(Overlay::Form(form)) = &mut self.overlay {
            form.wrap(width);
        }
    }

    /// Takes the form: a new thread of its directive begins with the next prompt.
    pub(super) fn start_form(&mut self) {
        let Some(Overlay::Form(form)) = &mut self.overlay else { return };
        let Some(given) = form.accept() else { return };
        let directive = form.directive.clone();
        self.overlay = None;
        self.begin_with(directive, given);
    }

    fn begin_with(&mut self, directive: DirectiveChoice, inputs: Values) {
        // The model of a chat is what the person works with; that of another directive may be its own.
        if self.view.thread.is_some() && self.directive == USUAL_DIRECTIVE {
            self.usual.clone_from(&self.model);
        }
        self.new_thread();
        self.draft_for_new();
        self.directive.clone_from(&directive.id);
        self.model = directive.model.clone().unwrap_or_else(|| self.usual.clone());
        self.model_is_scripted = self.model.provider == "scripted";
        if let Some(notice) = &directive.notice {
            self.say(Level::Warning, notice.clone());
        }
        self.inputs = inputs;
        self.draft = Some(directive);
        self.by_name = true;
    }

    /// Whether Enter begins the thread although nothing is written: the directive says what to do, and a person chose it.
    #[must_use]
    pub fn starts_alone(&self) -> bool {
        self.view.link == Link::Draft && self.by_name && self.composer.first_letter().is_none()
    }

    /// Opens the form when the draft's directive still misses an input; tells whether it did.
    pub(super) fn asks_first(&mut self) -> bool {
        if self.view.link != Link::Draft {
            return false;
        }
        let Some(directive) = self.draft.as_ref().filter(|directive| directive.id == self.directive) else {
            return false;
        };
        if input::accept(&directive.inputs, self.inputs.clone()).is_ok() {
            return false;
        }
        self.ask_inputs(directive.clone());
        true
    }

    /// The screen shows a thread of this directive; what was given to another does not count here.
    pub(super) fn follows(&mut self, directive: &str) {
        if self.directive != directive {
            directive.clone_into(&mut self.directive);
            self.inputs = Values::new();
            self.draft = None;
        }
    }
}
