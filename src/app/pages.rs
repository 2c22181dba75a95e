//! Pages about a request: all of its text, its wire forms, and how it differs from another.

use super::requests;
use crate::context::diff::{Change, LayerChange, Side, Word, difference, near};
use crate::context::words::{conversation, kind, origin, part_of};
use crate::domain::{Channel, ContentHash, Decision, Layer, Tokens, WireForm};
use crate::session::Setup;
use crate::workbench::AssembledRequest;
use crate::workbench::request::{Compared, LineKind, PageContent, SheetLine, View};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use unicode_width::UnicodeWidthStr as _;

/// Sizes stand below each other behind names that are no longer than this, in columns.
const LONGEST_ALIGNED: usize = 48;

/// Columns of a tab.
const TAB: &str = "    ";

/// Makes the page. Reads stored requests, so it is called off the loop.
///
/// # Errors
/// The sentence a person should read.
pub(super) fn page(setup: &Setup, whole: &AssembledRequest, view: View) -> Result<PageContent, String> {
    match view {
        View::Text => Ok(text(whole)),
        View::Wire(form) => wire(setup, whole, form),
        View::Difference(before) => {
            let before = match before {
                Compared::Whole(before) => before,
                Compared::Sent { thread_id, number } => {
                    Arc::new(requests::whole(setup, &thread_id, number).map_err(|error| error.to_string())?)
                }
            };
            Ok(compared(before, whole))
        }
    }
}

/// Its lines, with tabs as blanks.
fn lines(text: &str, sort: LineKind) -> impl Iterator<Item = SheetLine> {
    text.lines().map(move |line| SheetLine::new(sort, line.replace('\t', TAB)))
}

fn text(whole: &AssembledRequest) -> PageContent {
    let mut page: Vec<SheetLine> = Vec::new();
    let (mut channel, mut at) = (None, 0);
    for (layer, text) in whole.assembly.layers.iter().zip(&whole.assembly.texts) {
        if channel.replace(layer.channel) != Some(layer.channel) {
            at = 0;
        }
        let around = around(whole, layer.channel);
        if layer.decision == Decision::Included
            && let Some(between) = around.as_deref().and_then(|around| around.get(at..layer.range.start))
        {
            // What joins layers is nobody's.
            page.extend(lines(between.trim(), LineKind::Muted));
            at = layer.range.end;
        }
        page.extend((!page.is_empty()).then(SheetLine::default));
        page.push(rule(layer));
        match &layer.decision {
            Decision::Skipped { absence } => {
                page.push(SheetLine::new(LineKind::Changed, format!("left out: {absence}")));
                page.extend(lines(text, LineKind::Muted));
            }
            Decision::Included => {
                let said = conversation(layer, whole.assembly.messages.iter().map(|entry| &*entry.message));
                page.extend(lines(said.as_deref().unwrap_or(text), LineKind::Plain));
            }
        }
    }
    let title = format!("text · {}", whole.name);
    PageContent { view: View::Text, title, lines: page, copy: None, of: whole.name.clone() }
}

/// The text a layer's range counts in.
fn around(whole: &AssembledRequest, channel: Channel) -> Option<String> {
    match channel {
        Channel::System => Some(whole.assembly.system.clone()),
        Channel::Message { index } => whole.assembly.messages.get(index).map(|entry| entry.message.told()),
        Channel::Messages { .. } | Channel::Tools => None,
    }
}

/// The line above a layer: what it is, how large, and where it comes from.
fn rule(layer: &Layer) -> SheetLine {
    let size = match layer.decision {
        Decision::Skipped { .. } if layer.tokens.count == Tokens(0) => String::new(),
        Decision::Included | Decision::Skipped { .. } => format!(" · ~{} tokens", layer.tokens.count.0),
    };
    let named = format!("── {} · {} · {}{size}", part_of(layer.channel), kind(layer.kind), layer.id);
    let text = format!("{named} · from {}", origin(&layer.origin));
    let marks = vec![(named.len()..text.len(), LineKind::Muted)];
    SheetLine { text, sort: LineKind::Heading, marks, layer: Some(layer.id.clone()) }
}

fn wire(setup: &Setup, whole: &AssembledRequest, form: Option<WireForm>) -> Result<PageContent, String> {
    let call = requests::call(setup, &Side::from(&whole.assembly), &whole.model, whole.max_output_tokens)
        .map_err(|error| error.to_string())?;
    let own = whole.sent.as_ref().map_or_else(|| setup.models.form(&whole.model), |sent| sent.form);
    let mut body = requests::wire_body(setup, &call, &whole.model, whole.sent.as_ref(), form)?;
    if let Some(payload) = whole.payload.as_ref().filter(|_| body.form == own) {
        body.bytes = payload.clone().into_bytes();
    }
    let text = String::from_utf8_lossy(&body.bytes).into_owned();
    let shown = pretty(&text).map_err(|error| format!("the body is no JSON: {error}"))?;
    let shown = without_images(shown, &call.images);
    let mut page: Vec<SheetLine> = lines(&shown, LineKind::Plain).collect();
    colour_json(&mut page);
    mark_layers(&mut page, whole);
    let note = match body.is_sent {
        Some(true) => ", as it was sent",
        Some(false) => ", not as it was sent: this version writes it otherwise",
        None if body.form == own => "",
        None => ", not the one in which it is asked",
    };
    Ok(PageContent {
        view: View::Wire(Some(body.form)),
        title: format!("{}{note} · {}", body.form.title(), whole.name),
        lines: page,
        copy: Some(text),
        of: whole.name.clone(),
    })
}

/// Marks names, numbers and words in JSON that stands on lines of its own for each value; texts stay as they are.
fn colour_json(page: &mut [SheetLine]) {
    for line in page {
        let text = line.text.as_str();
        let begin = text.len() - text.trim_start().len();
        let rest = text.get(begin..).unwrap_or_default();
        let name = if rest.starts_with('"') {
            string_end(rest).filter(|end| rest.get(*end..).is_some_and(|rest| rest.starts_with(": ")))
        } else {
            None
        };
        let value = begin + name.map_or(0, |end| end + 2);
        let mut marks: Vec<(Range<usize>, LineKind)> =
            name.map(|end| (begin..begin + end, LineKind::Name)).into_iter().collect();
        let word = text.get(value..).unwrap_or_default().trim_end_matches(',');
        if word.starts_with('"') {
            marks.push((value..value + word.len(), LineKind::Text));
        } else if !word.is_empty() && !word.starts_with(['{', '}', '[', ']']) {
            marks.push((value..value + word.len(), LineKind::Number));
        }
        line.marks = marks;
    }
}

/// Bytes of the JSON string that `text` begins with.
fn string_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().enumerate().skip(1).find_map(|(at, byte)| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends.then_some(at + 1)
    })
}

/// Shows where each layer's text stands in the body: the layers of one string take turns in two colours.
fn mark_layers(page: &mut [SheetLine], whole: &AssembledRequest) {
    /// A text that is shorter is found where it is not meant.
    const SHORTEST: usize = 12;
    // From the beginning for each part: a form may write the system text or the tools at either end.
    let mut at: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut odd = false;
    for (layer, text) in whole.assembly.layers.iter().zip(&whole.assembly.texts) {
        if layer.decision != Decision::Included || text.trim().len() < SHORTEST || layer.channel == Channel::Tools {
            continue;
        }
        let Ok(written) = serde_json::to_string(text.trim()) else { continue };
        let written = written.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default();
        let (line, byte) = *at.entry(part_of(layer.channel)).or_default();
        let found = page.iter().enumerate().skip(line).find_map(|(number, shown)| {
            let from = if number == line { byte } else { 0 };
            Some((number, from + shown.text.get(from..)?.find(written)?))
        });
        let Some((number, from)) = found else { continue };
        let to = from + written.len();
        at.insert(part_of(layer.channel), (number, to));
        let Some(shown) = page.get_mut(number) else { continue };
        odd = !odd;
        let of_layer = if odd { LineKind::Layer } else { LineKind::OtherLayer };
        shown.layer.get_or_insert_with(|| layer.id.clone());
        shown.marks = overlaid(&shown.marks, from..to, of_layer);
    }
}

/// `marks` with another one on top of them, in order and apart.
fn overlaid(marks: &[(Range<usize>, LineKind)], place: Range<usize>, of: LineKind) -> Vec<(Range<usize>, LineKind)> {
    let parts = marks.iter().flat_map(|(mark, kind)| {
        let before = mark.start..mark.end.min(place.start);
        let behind = mark.start.max(place.end)..mark.end;
        [(before, *kind), (behind, *kind)]
    });
    let mut all: Vec<_> = parts.chain([(place.clone(), of)]).filter(|(mark, _)| mark.start < mark.end).collect();
    all.sort_by_key(|(mark, _)| mark.start);
    all
}

/// `json` with a few words for the bytes of `images`, which nobody reads.
fn without_images(json: String, images: &BTreeMap<ContentHash, Vec<u8>>) -> String {
    const SHOWN: usize = 24;
    images.values().fold(json, |json, bytes| {
        let whole = STANDARD.encode(bytes);
        let Some(begin) = whole.get(..SHOWN) else { return json };
        json.replace(&whole, &format!("{begin}… {} bytes as base64", bytes.len()))
    })
}

/// JSON over several lines, with its keys in their order.
fn pretty(json: &str) -> serde_json::Result<String> {
    let mut shown = Vec::with_capacity(json.len() * 2);
    let mut reader = serde_json::Deserializer::from_str(json);
    serde_transcode::transcode(&mut reader, &mut serde_json::Serializer::pretty(&mut shown))?;
    Ok(String::from_utf8_lossy(&shown).into_owned())
}

fn compared(before: Arc<AssembledRequest>, after: &AssembledRequest) -> PageContent {
    let difference = difference(&Side::from(&before.assembly), &Side::from(&after.assembly));
    let mut page: Vec<SheetLine> = Vec::new();
    let other_model = before.model != after.model;
    if other_model {
        page.push(SheetLine::new(LineKind::Changed, format!("model  {} → {}", before.model, after.model)));
    }
    page.push(SheetLine::new(LineKind::Heading, difference.in_short()));
    let wide = difference.layers.iter().map(|change| change.id.width()).max().unwrap_or(0).min(LONGEST_ALIGNED);
    page.extend(difference.layers.iter().map(|change| summary(change, wide)));
    page.push(match &difference.leaves {
        _ if other_model => {
            SheetLine::new(LineKind::Changed, "different model: nothing that a provider cached of the first applies")
        }
        Some(leaving) => SheetLine::new(LineKind::Changed, leaving.told()),
        None if difference.layers.is_empty() => SheetLine::new(LineKind::Muted, "nothing differs"),
        None => {
            SheetLine::new(LineKind::Added, "the second only adds to the end of the first: a cached prefix stays valid")
        }
    });
    for LayerChange { id, kind: of, change, .. } in &difference.layers {
        let Change::Words { words } = change else { continue };
        page.push(SheetLine::default());
        let heading = SheetLine::new(LineKind::Heading, format!("── {} · {id}", kind(*of)));
        page.push(SheetLine { layer: Some(id.clone()), ..heading });
        page.extend(changed_words(words));
    }
    let title = format!("difference · {} → {}", before.name, after.name);
    PageContent {
        view: View::Difference(Compared::Whole(before)),
        title,
        lines: page,
        copy: None,
        of: after.name.clone(),
    }
}

/// What became of a layer, on one line.
fn summary(LayerChange { id, kind: of, change, .. }: &LayerChange, wide: usize) -> SheetLine {
    let blanks = " ".repeat(wide.saturating_sub(id.width()));
    let name = format!("{:<13} {id}{blanks}", kind(*of));
    match change {
        Change::Added { tokens } => {
            SheetLine::new(LineKind::Added, format!("+ {name}  {:>7} tokens", format!("+{}", tokens.0)))
        }
        Change::Removed { tokens } => {
            SheetLine::new(LineKind::Removed, format!("- {name}  {:>7} tokens", format!("-{}", tokens.0)))
        }
        Change::Moved { before, after } => {
            SheetLine::new(LineKind::Changed, format!("> {name}  from place {before} to {after}"))
        }
        Change::Words { .. } => SheetLine::new(LineKind::Changed, format!("~ {name}  other words, below")),
        Change::Messages { same, before, after } => SheetLine::new(
            LineKind::Changed,
            format!("~ {name}  {before} → {after} messages, the first {same} the same"),
        ),
        Change::Reason { before, after } => {
            SheetLine::new(LineKind::Changed, format!("~ {name}  left out: {before} → {after}"))
        }
    }
}

/// Words that go and come, with signs that tell them apart without colour; of what stays, the ends.
fn changed_words(words: &[Word]) -> Vec<SheetLine> {
    let mut lines = vec![SheetLine::default()];
    for (number, word) in words.iter().enumerate() {
        let (text, sort) = match word {
            Word::Same(text) => (near(text, number > 0, number + 1 < words.len()), None),
            Word::Gone(text) => (format!("[-{text}-]"), Some(LineKind::Removed)),
            Word::New(text) => (format!("{{+{text}+}}"), Some(LineKind::Added)),
        };
        for (index, piece) in text.split('\n').enumerate() {
            if index > 0 {
                lines.push(SheetLine::default());
            }
            let Some(line) = lines.last_mut() else { continue };
            let from = line.text.len();
            line.text.push_str(&piece.replace('\t', TAB));
            line.marks.extend(sort.map(|sort| (from..line.text.len(), sort)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_laid_out_without_changing_its_order() {
        let shown = pretty(r#"{"b":1.0,"a":["x\n"],"n":18446744073709551615}"#).unwrap();
        let lines: Vec<&str> = shown.lines().map(str::trim).collect();
        assert_eq!(lines, ["{", "\"b\": 1.0,", "\"a\": [", "\"x\\n\"", "],", "\"n\": 18446744073709551615", "}"]);
    }

    #[test]
    fn json_is_coloured_by_what_it_is_and_by_layers() {
        let shown = pretty(r#"{"a":"one \"two\" three: four","n":1.5,"list":["x",true],"o":{}}"#).unwrap();
        let mut page: Vec<SheetLine> = lines(&shown, LineKind::Plain).collect();
        colour_json(&mut page);
        let marked = |line: &SheetLine| -> Vec<(String, LineKind)> {
            line.marks.iter().map(|(place, kind)| (line.text.get(place.clone()).unwrap().to_owned(), *kind)).collect()
        };
        let said = |text: &str, kind| (text.to_owned(), kind);
        assert_eq!(marked(&page[0]), []);
        assert_eq!(
            marked(&page[1]),
            [said("\"a\"", LineKind::Name), said("\"one \\\"two\\\" three: four\"", LineKind::Text)]
        );
        assert_eq!(marked(&page[2]), [said("\"n\"", LineKind::Name), said("1.5", LineKind::Number)]);
        assert_eq!(marked(&page[3]), [said("\"list\"", LineKind::Name)]);
        assert_eq!(marked(&page[4]), [said("\"x\"", LineKind::Text)]);
        assert_eq!(marked(&page[5]), [said("true", LineKind::Number)]);
        let marks = overlaid(&[(0..3, LineKind::Name), (5..20, LineKind::Text)], 8..12, LineKind::Layer);
        assert_eq!(
            marks,
            [(0..3, LineKind::Name), (5..8, LineKind::Text), (8..12, LineKind::Layer), (12..20, LineKind::Text)]
        );
    }

    #[test]
    fn words_over_several_lines_keep_their_marks() {
        let words = [Word::Same("a ".into()), Word::Gone("b\nc".into()), Word::New("d".into())];
        let lines = changed_words(&words);
        let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["a [-b", "c-]{+d+}"]);
        assert_eq!(lines[0].marks, [(2..5, LineKind::Removed)]);
        assert_eq!(lines[1].marks, [(0..3, LineKind::Removed), (3..8, LineKind::Added)]);
    }
}
