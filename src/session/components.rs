//! Components of the extensions of a thread: where each is, and when it is drawn again.
//!
//! The engine draws them, for the size of the screen that was told last, at most every [`FRAME`]. Those that a person attends to
//! (`ctx.ui.custom`) are told as [`OpenComponent`]s; those that stand around the draft (headers, footers, widgets) as what is
//! [shown](Shown) there.

use super::extension_text::{plain, styled};
use super::overlay_layout::{Layout, layout};
use crate::domain::{
    ContentHash, Editor, EditorAct, Gesture, Insertion, NumberedAct, OpenComponent, ScreenSize, Shown, ShownPlace,
    Themes,
};
use crate::extensions::{Ask, Engine};
use crate::ports::ThreadAccess;
use futures_util::future::select;
use serde_json::Value;
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// No two drawings are nearer to each other: 30 in a second, as many as terminals are sent by others of this kind.
const FRAME: Duration = Duration::from_millis(33);
/// As many are on the screen at once.
const MOST: usize = 16;
/// Acts of an editor that are told.
const ACTS: usize = 8;
/// Themes that a screen may tell of, and bytes of the name of each.
const MOST_THEMES: usize = 200;
const LONGEST_THEME: usize = 200;
/// Rows of one that stands around the draft.
const MOST_ROWS: usize = 10;

/// See the module.
#[derive(Default)]
pub(super) struct Components {
    all: Arc<Mutex<All>>,
    news: Arc<News>,
    task: Mutex<Option<AbortHandle>>,
    /// How often something of the conversation was to be drawn anew.
    redraws: AtomicU64,
}

/// What is to be told.
#[derive(Default)]
struct News {
    /// Something is drawn otherwise.
    drawn: Notify,
    /// Something is there, or no longer: whoever types must know.
    opened: Notify,
}

#[derive(Default)]
struct All {
    places: BTreeMap<u64, Place>,
    screen: ScreenSize,
    themes: Themes,
    engine: Weak<Engine>,
    /// What was shown around the draft by components that are gone.
    gone: Vec<(String, ShownPlace)>,
    /// The draft of the screen on which was typed last, and whether an extension has read it.
    draft: String,
    draft_is_read: bool,
    shows_details: bool,
}

struct Place {
    from: String,
    kind: Kind,
    is_hidden: bool,
    focused: bool,
    /// It is to be drawn again.
    is_stale: bool,
    drawn: Layout,
    lines: Vec<String>,
    /// What the thread was told of it last, where it stands around the draft.
    told: Option<Vec<String>>,
    /// How it stands, where it is an editor.
    editor: Option<Editor>,
    /// What it asked for as an editor, so many times.
    acts: u64,
    /// The screen at which was typed last.
    typed_at: String,
}

#[derive(Clone)]
enum Kind {
    /// Has the person's attention; as an overlay it says where.
    Attended { overlay: bool },
    /// Stands around the draft, under this name.
    Around { key: String, place: ShownPlace },
    /// Stands in the place of the draft.
    Editor,
}

impl Drop for Components {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

impl Components {
    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn screen(&self) -> ScreenSize {
        self.all().screen
    }

    /// With these themes, until a screen tells of its own.
    pub(super) fn with(themes: Themes) -> Self {
        let components = Self::default();
        components.all().themes = themes;
        components
    }

    /// An extension has chosen one of the themes.
    pub(super) fn choose(&self, theme: &str) {
        self.all().themes.chosen = Some(theme.to_owned());
    }

    /// The themes of the screen that told of them last.
    pub(super) fn themes(&self) -> Themes {
        self.all().themes.clone()
    }

    /// Draws them for this engine from here on; what was drawn by another is gone.
    pub(super) fn follow(&self, engine: Weak<Engine>) {
        {
            let mut all = self.all();
            let before = std::mem::replace(&mut all.engine, engine).upgrade();
            // Who waits for one of them goes on.
            for (id, engine) in all.places.keys().filter_map(|id| Some((*id, before.as_ref()?))) {
                engine.tell("closePlace", vec![id.into()]);
            }
        }
        self.clear();
        self.redraw();
    }

    /// How often something of the conversation was to be drawn anew.
    pub(super) fn redraws(&self) -> u64 {
        self.redraws.load(Ordering::Relaxed)
    }

    fn redraw(&self) {
        self.redraws.fetch_add(1, Ordering::Relaxed);
        self.news.drawn.notify_one();
    }

    /// All of them are gone.
    pub(super) fn clear(&self) {
        let mut all = self.all();
        let gone = std::mem::take(&mut all.places);
        all.gone.extend(gone.into_values().filter_map(|place| place.kind.around()));
        drop(all);
        self.news.opened.notify_one();
    }

    /// Takes what an extension says about one of its components; false where it is about something else.
    ///
    /// # Errors
    /// The sentence for the extension, where it has too many.
    pub(super) fn told(&self, name: &str, from: &str, arguments: &Value) -> Result<bool, String> {
        if name == "ui.invalidateTool" {
            self.redraw();
            return Ok(true);
        }
        if self.told_by_editor(name, arguments) {
            return Ok(true);
        }
        let Some(id) = arguments.get("component").and_then(Value::as_u64) else { return Ok(false) };
        let flag = |name: &str| arguments.get(name).and_then(Value::as_bool);
        let mut all = self.all();
        let mut turned = true;
        match name {
            "ui.open" => {
                let Some(kind) = Kind::of(from, arguments) else { return Ok(true) };
                // What takes the place of another has its name.
                all.places.retain(|_, other| !other.kind.is_named_as(&kind));
                if all.places.len() >= MOST {
                    return Err(format!("no more than {MOST} components are open at once"));
                }
                let passive = arguments.pointer("/options/nonCapturing").and_then(Value::as_bool).unwrap_or_default();
                let place = Place {
                    from: from.to_owned(),
                    is_hidden: false,
                    focused: !passive,
                    is_stale: true,
                    drawn: Layout::default(),
                    lines: Vec::new(),
                    told: None,
                    editor: matches!(kind, Kind::Editor).then(Editor::default),
                    acts: 0,
                    typed_at: String::new(),
                    kind,
                };
                all.places.insert(id, place);
            }
            "ui.close" => {
                all.places.remove(&id);
            }
            "ui.redraw" | "ui.setHidden" | "ui.focus" => {
                let Some(place) = all.places.get_mut(&id) else { return Ok(true) };
                let before = (place.is_hidden, place.focused);
                place.is_hidden = flag("hidden").unwrap_or(place.is_hidden);
                place.focused = flag("focused").unwrap_or(place.focused);
                place.is_stale = true;
                turned = before != (place.is_hidden, place.focused);
            }
            _ => return Ok(false),
        }
        drop(all);
        let news = if turned { &self.news.opened } else { &self.news.drawn };
        news.notify_one();
        Ok(true)
    }

    /// Takes what the editor in the place of the draft says; false where it is about something else.
    fn told_by_editor(&self, name: &str, arguments: &Value) -> bool {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let act = match name {
            "ui.setEditorText" if text("from") == Some("component") => None,
            "ui.submit" => Some(EditorAct::Submit { text: plain(text("text").unwrap_or_default()) }),
            "ui.editorAction" => Some(EditorAct::Action { name: plain(text("action").unwrap_or_default()) }),
            _ => return false,
        };
        let mut all = self.all();
        // What an editor says that is gone is about nothing.
        let Some(place) = all.places.values_mut().rev().find(|place| place.editor.is_some()) else { return true };
        let Some(editor) = &mut place.editor else { return true };
        match act {
            None => editor.text = plain(text("text").unwrap_or_default()),
            Some(act) => {
                place.acts += 1;
                if let EditorAct::Submit { .. } = act {
                    // What is sent is no longer written, whenever the editor says so.
                    editor.text.clear();
                }
                editor.acts.push(NumberedAct { number: place.acts, by: place.typed_at.clone(), act });
                let gone = editor.acts.len().saturating_sub(ACTS);
                editor.acts.drain(..gone);
            }
        }
        drop(all);
        self.news.opened.notify_one();
        true
    }

    /// What is written: the draft, or the text of the editor in its place.
    pub(super) fn editor_text(&self) -> String {
        let mut all = self.all();
        if let Some(editor) = all.places.values().rev().find_map(|place| place.editor.as_ref()) {
            return editor.text.clone();
        }
        all.draft_is_read = true;
        all.draft.clone()
    }

    /// How a text is put into the draft that an extension writes there. What it has read gives way to it.
    pub(super) fn written(&self, text: &str) -> Insertion {
        let mut all = self.all();
        if !all.draft_is_read && !all.draft.is_empty() {
            return Insertion::Before;
        }
        all.draft_is_read = true;
        let read = ContentHash::of(all.draft.as_bytes());
        text.clone_into(&mut all.draft);
        Insertion::Instead(read)
    }

    /// Details are shown in full from here on, or folded.
    pub(super) fn unfolded(&self, open: bool) {
        self.all().shows_details = open;
    }

    pub(super) fn shows_details(&self) -> bool {
        self.all().shows_details
    }

    /// What stood around the draft under this name is no longer a component's: nothing of it is shown once this is over.
    pub(super) fn cleared(&self, from: &str, arguments: &Value) {
        if let Some(kind) = Kind::of(from, arguments) {
            self.all().places.retain(|_, other| !other.kind.is_named_as(&kind));
        }
    }

    /// A person does something.
    pub(super) fn gesture(&self, gesture: Gesture) {
        let mut all = self.all();
        let engine = all.engine.upgrade();
        match gesture {
            Gesture::Type { component, data, by } => {
                let place = all.places.get_mut(&component);
                if let Some((place, engine)) = place.zip(engine) {
                    place.typed_at = by;
                    engine.tell("inputPlace", vec![component.into(), data.into()]);
                }
                return;
            }
            Gesture::Write { component, text } => {
                if let Some(engine) = engine.filter(|_| all.places.contains_key(&component)) {
                    engine.tell("writePlace", vec![component.into(), text.into()]);
                }
                return;
            }
            Gesture::Close { component } => {
                // Away at once, whatever the engine does.
                all.places.remove(&component);
                if let Some(engine) = engine {
                    engine.tell("closePlace", vec![component.into()]);
                }
            }
            Gesture::Themes(mut themes) => {
                themes.names.retain(|name| name.len() <= LONGEST_THEME);
                themes.names.truncate(MOST_THEMES);
                all.themes = themes;
                if let Some(engine) = engine {
                    engine.tell("themeChanged", Vec::new());
                }
                return;
            }
            Gesture::Draft { text } => {
                all.draft_is_read &= all.draft == text;
                all.draft = text;
                return;
            }
            Gesture::Unfold { open } => {
                all.shows_details = open;
                return;
            }
            Gesture::Resize(screen) => {
                if all.screen == screen {
                    return;
                }
                all.screen = screen;
                for (id, place) in &mut all.places {
                    place.is_stale = true;
                    if let Some(engine) = &engine {
                        engine.tell("invalidatePlace", vec![(*id).into()]);
                    }
                }
            }
        }
        drop(all);
        self.news.opened.notify_one();
    }

    /// Begins to tell a thread of them.
    pub(super) fn begin(&self, thread: Arc<dyn ThreadAccess>, runtime: &Handle) {
        let (all, news) = (Arc::clone(&self.all), Arc::clone(&self.news));
        let task = runtime.spawn(async move {
            let mut at_once = false;
            loop {
                if !at_once {
                    select(pin!(news.drawn.notified()), pin!(news.opened.notified())).await;
                }
                draw(&all).await;
                tell(&all, thread.as_ref()).await;
                at_once = timeout(FRAME, news.opened.notified()).await.is_ok();
            }
        });
        *self.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task.abort_handle());
    }
}

impl Kind {
    /// Where it is to be; none where nothing of the kind is drawn.
    fn of(from: &str, arguments: &Value) -> Option<Self> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let kind = text("kind");
        let place = match kind {
            "editor" => return Some(Self::Editor),
            "custom" => return Some(Self::Attended { overlay: false }),
            "overlay" => return Some(Self::Attended { overlay: true }),
            "widget" if text("placement") == "belowEditor" => ShownPlace::BelowDraft,
            "widget" => ShownPlace::AboveDraft,
            "header" => ShownPlace::Header,
            "footer" => ShownPlace::Footer,
            _ => return None,
        };
        let key = match text("key") {
            "" => format!("{from}:{kind}"),
            key => format!("{from}:{key}"),
        };
        Some(Self::Around { key, place })
    }

    /// Whether both stand around the draft under one name.
    fn is_named_as(&self, other: &Self) -> bool {
        let name = |kind: &Self| match kind {
            Self::Around { key, .. } => Some(key.clone()),
            Self::Editor => Some(String::new()),
            Self::Attended { .. } => None,
        };
        name(self).is_some_and(|own| name(other) == Some(own))
    }

    fn around(self) -> Option<(String, ShownPlace)> {
        match self {
            Self::Around { key, place } => Some((key, place)),
            Self::Attended { .. } | Self::Editor => None,
        }
    }
}

fn lock(all: &Mutex<All>) -> MutexGuard<'_, All> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has those drawn that are to be.
async fn draw(all: &Mutex<All>) {
    let (stale, screen, engine) = {
        let mut all = lock(all);
        let Some(engine) = all.engine.upgrade() else { return };
        let stale = all
            .places
            .iter_mut()
            .filter_map(|(id, place)| std::mem::take(&mut place.is_stale).then(|| (*id, place.kind.clone())));
        let stale: Vec<(u64, Kind)> = stale.collect();
        (stale, all.screen, engine)
    };
    let ask = async |name, arguments| {
        let answered = engine.ask(Ask::Function { name, arguments }, false).await;
        answered.ok().and_then(|(answer, _)| answer.result)
    };
    for (id, kind) in stale {
        let options = match kind {
            Kind::Attended { overlay: true } => {
                ask("placeOptions", vec![id.into(), screen.columns.into(), screen.rows.into()]).await
            }
            Kind::Attended { overlay: false } | Kind::Around { .. } | Kind::Editor => None,
        };
        let options = options.unwrap_or_default();
        let width = match kind {
            Kind::Attended { overlay: true } => layout(&options, screen, 0).spot.width,
            Kind::Attended { overlay: false } | Kind::Around { .. } | Kind::Editor => screen.inner,
        };
        let drawn = ask("renderPlace", vec![id.into(), width.into()]).await;
        let lines = drawn.as_ref().and_then(Value::as_array).into_iter().flatten();
        let lines: Vec<String> = lines.filter_map(Value::as_str).map(styled).collect();
        let placed = layout(&options, screen, lines.len());
        if let Some(place) = lock(all).places.get_mut(&id) {
            (place.drawn, place.lines) = (placed, lines);
        }
    }
}

/// Tells the thread what is on the screen now.
async fn tell(all: &Mutex<All>, thread: &dyn ThreadAccess) {
    let mut open = Vec::new();
    {
        // Shown while nobody else says anything about them, so that the order stays.
        let mut all = lock(all);
        for (key, place) in std::mem::take(&mut all.gone) {
            thread.show(Shown { key, place, lines: Vec::new() });
        }
        let rows = usize::from(all.screen.rows);
        for (id, place) in all.places.iter_mut().filter(|(_, place)| !place.is_hidden) {
            let (id, from, mut lines) = (*id, place.from.clone(), place.lines.clone());
            match &place.kind {
                Kind::Attended { overlay } => {
                    if !overlay || place.drawn.is_visible {
                        lines.truncate(place.drawn.rows.min(rows));
                        let at = overlay.then_some(place.drawn.spot);
                        open.push(OpenComponent { id, from, at, focused: place.focused, editor: None, lines });
                    }
                }
                Kind::Editor => {
                    lines.truncate(rows);
                    let editor = place.editor.clone();
                    open.push(OpenComponent { id, from, at: None, focused: false, editor, lines });
                }
                Kind::Around { key, place: at } => {
                    lines.truncate(MOST_ROWS);
                    if place.told.as_ref() != Some(&lines) {
                        place.told = Some(lines.clone());
                        thread.show(Shown { key: key.clone(), place: *at, lines });
                    }
                }
            }
        }
    }
    thread.components(open).await;
}
