//! Styles as people write them, and colours a terminal does not have.

use ratatui::style::{Color, Modifier, Style};

/// How many colours the terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColourDepth {
    /// `NO_COLOR`: stress and reverse stay.
    None,
    Sixteen,
    Indexed,
    True,
}

const NAMES: [(&str, Color); 17] = [
    ("default", Color::Reset),
    ("black", Color::Black),
    ("red", Color::Red),
    ("green", Color::Green),
    ("yellow", Color::Yellow),
    ("blue", Color::Blue),
    ("magenta", Color::Magenta),
    ("cyan", Color::Cyan),
    ("grey", Color::Gray),
    ("dark-grey", Color::DarkGray),
    ("light-red", Color::LightRed),
    ("light-green", Color::LightGreen),
    ("light-yellow", Color::LightYellow),
    ("light-blue", Color::LightBlue),
    ("light-magenta", Color::LightMagenta),
    ("light-cyan", Color::LightCyan),
    ("white", Color::White),
];

const STRESS: [(&str, Modifier); 5] = [
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underlined", Modifier::UNDERLINED),
    ("reversed", Modifier::REVERSED),
];

/// Reads `red bold on #002040`: colours by name, number up to 255 or `#rrggbb`.
pub(super) fn parse_style(text: &str) -> Result<Style, String> {
    let mut style = Style::new();
    let mut ground = false;
    for word in text.split_whitespace() {
        if word == "on" {
            ground = true;
        } else if let Some((_, modifier)) = STRESS.iter().find(|(name, _)| *name == word) {
            style = style.add_modifier(*modifier);
        } else {
            let colour =
                parse_colour(word).ok_or_else(|| format!("`{word}` is neither a colour nor a way to stress"))?;
            let (place, had) = if std::mem::take(&mut ground) { ("ground", style.bg) } else { ("colour", style.fg) };
            if had.is_some() {
                return Err(format!("`{word}` is a second {place}"));
            }
            style = if place == "ground" { style.bg(colour) } else { style.fg(colour) };
        }
    }
    if ground { Err("no colour stands behind `on`".to_owned()) } else { Ok(style) }
}

fn parse_colour(word: &str) -> Option<Color> {
    if let Some(digits) = word.strip_prefix('#') {
        let number = u32::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 6)?;
        let [_, red, green, blue] = number.to_be_bytes();
        return Some(Color::Rgb(red, green, blue));
    }
    let named = NAMES.iter().find(|(name, _)| *name == word).map(|(_, colour)| *colour);
    named.or_else(|| word.parse().ok().map(Color::Indexed))
}

/// The style in the colours of `depth`.
pub(super) fn reduce(mut style: Style, depth: ColourDepth) -> Style {
    if depth == ColourDepth::None {
        // What stood out by its ground alone stands out reversed.
        if style.bg.is_some_and(|ground| ground != Color::Reset) {
            style = style.add_modifier(Modifier::REVERSED);
        }
        return Style { fg: None, bg: None, underline_color: None, ..style };
    }
    style.fg = style.fg.map(|colour| nearest(colour, depth));
    style.bg = style.bg.map(|colour| nearest(colour, depth));
    style
}

/// The sixteen colours as most terminals show them.
const SIXTEEN: [(Color, [u8; 3]); 16] = [
    (Color::Black, [0, 0, 0]),
    (Color::Red, [170, 0, 0]),
    (Color::Green, [0, 170, 0]),
    (Color::Yellow, [170, 110, 0]),
    (Color::Blue, [0, 0, 170]),
    (Color::Magenta, [170, 0, 170]),
    (Color::Cyan, [0, 170, 170]),
    (Color::Gray, [190, 190, 190]),
    (Color::DarkGray, [100, 100, 100]),
    (Color::LightRed, [255, 60, 60]),
    (Color::LightGreen, [60, 255, 60]),
    (Color::LightYellow, [255, 255, 80]),
    (Color::LightBlue, [90, 90, 255]),
    (Color::LightMagenta, [255, 80, 255]),
    (Color::LightCyan, [80, 255, 255]),
    (Color::White, [255, 255, 255]),
];

/// The steps of the colour cube of the 256 colours.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

fn nearest(colour: Color, depth: ColourDepth) -> Color {
    let rgb = match (colour, depth) {
        (Color::Rgb(red, green, blue), ColourDepth::Indexed | ColourDepth::Sixteen) => [red, green, blue],
        (Color::Indexed(index), ColourDepth::Sixteen) => of_index(index),
        _ => return colour,
    };
    if depth == ColourDepth::Sixteen {
        let best = SIXTEEN.iter().min_by_key(|(_, known)| apart(*known, rgb));
        return best.map_or(Color::Reset, |(colour, _)| *colour);
    }
    let best = (16..=255).min_by_key(|index| apart(of_index(*index), rgb));
    best.map_or(colour, Color::Indexed)
}

pub(super) fn of_index(index: u8) -> [u8; 3] {
    match index {
        0..=15 => SIXTEEN[usize::from(index)].1,
        16..=231 => {
            let step = index - 16;
            [step / 36, step / 6 % 6, step % 6].map(|digit| CUBE[usize::from(digit)])
        }
        232..=255 => [8 + (index - 232) * 10; 3],
    }
}

fn apart(one: [u8; 3], other: [u8; 3]) -> u32 {
    one.iter().zip(other).map(|(one, other)| u32::from(one.abs_diff(other)).pow(2)).sum()
}
