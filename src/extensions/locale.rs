//! What the engine knows nothing of: time zones, and how a text is divided.

use super::plain::Plain;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use unicode_segmentation::UnicodeSegmentation as _;

/// A time zone as it is at a time in milliseconds: minutes east of UTC, how it is called in short, its name. Nothing where there is
/// no such zone.
pub(super) fn zone(name: &str, at: &Plain) -> Plain {
    #[expect(clippy::cast_possible_truncation, reason = "a time of JavaScript is whole and in bounds, else it is none")]
    let at = at.number().and_then(|at| Timestamp::from_millisecond(at as i64).ok());
    let Some((zone, at)) = TimeZone::get(name).ok().zip(at) else { return Plain::Nothing };
    let here = zone.to_offset_info(at);
    Plain::map([
        ("offset", Plain::Number(f64::from(here.offset().seconds()) / 60.0)),
        ("abbreviation", Plain::Text(here.abbreviation().to_owned())),
        ("name", Plain::Text(zone.iana_name().unwrap_or(name).to_owned())),
    ])
}

/// The pieces of a text, which joined give it.
pub(super) fn segment(text: &str, granularity: &str) -> Plain {
    let pieces: Vec<&str> = match granularity {
        "word" => text.split_word_bounds().collect(),
        "sentence" => text.split_sentence_bounds().collect(),
        _ => text.graphemes(true).collect(),
    };
    Plain::List(pieces.into_iter().map(|piece| Plain::Text(piece.to_owned())).collect())
}
