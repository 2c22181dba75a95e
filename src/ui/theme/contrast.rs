//! T24: every text of every theme that comes along can be read, by the contrast that WCAG asks for.

use super::colour::of_index;
use super::{ColourDepth, EMBEDDED, Role, Theme};
use ratatui::style::{Color, Modifier};

/// The least contrast of text at its usual size (WCAG 2.2, AA).
const LEAST: f64 = 4.5;

/// xterm's sixteen colours.
const XTERM: [[u8; 3]; 16] = [
    [0, 0, 0],
    [205, 0, 0],
    [0, 205, 0],
    [205, 205, 0],
    [0, 0, 238],
    [205, 0, 205],
    [0, 205, 205],
    [229, 229, 229],
    [127, 127, 127],
    [255, 0, 0],
    [0, 255, 0],
    [255, 255, 0],
    [92, 92, 255],
    [255, 0, 255],
    [0, 255, 255],
    [255, 255, 255],
];

/// Text and background of terminals as people have them.
const DARK: [([u8; 3], [u8; 3]); 4] = [
    ([229, 229, 229], [0, 0, 0]),
    ([212, 212, 212], [30, 30, 30]),
    ([171, 178, 191], [40, 44, 52]),
    ([248, 248, 242], [40, 42, 54]),
];
const LIGHT: [([u8; 3], [u8; 3]); 3] =
    [([0, 0, 0], [255, 255, 255]), ([56, 58, 66], [250, 250, 250]), ([60, 56, 54], [253, 246, 227])];

fn luminance(colour: [u8; 3]) -> f64 {
    let linear = |channel: u8| {
        let share = f64::from(channel) / 255.0;
        if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    };
    let [red, green, blue] = colour.map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

fn contrast(one: [u8; 3], other: [u8; 3]) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn shown(colour: Option<Color>, default: [u8; 3]) -> [u8; 3] {
    let number = match colour {
        None | Some(Color::Reset) => return default,
        Some(Color::Rgb(red, green, blue)) => return [red, green, blue],
        Some(Color::Indexed(index)) if index >= 16 => return of_index(index),
        Some(Color::Indexed(index)) => index,
        Some(Color::Black) => 0,
        Some(Color::Red) => 1,
        Some(Color::Green) => 2,
        Some(Color::Yellow) => 3,
        Some(Color::Blue) => 4,
        Some(Color::Magenta) => 5,
        Some(Color::Cyan) => 6,
        Some(Color::Gray) => 7,
        Some(Color::DarkGray) => 8,
        Some(Color::LightRed) => 9,
        Some(Color::LightGreen) => 10,
        Some(Color::LightYellow) => 11,
        Some(Color::LightBlue) => 12,
        Some(Color::LightMagenta) => 13,
        Some(Color::LightCyan) => 14,
        Some(Color::White) => 15,
    };
    XTERM[usize::from(number)]
}

/// The terminals for which a theme is made.
fn terminals(name: &str) -> Vec<([u8; 3], [u8; 3])> {
    match name {
        "dark" => DARK.to_vec(),
        "light" => LIGHT.to_vec(),
        // The sixteen colours are the terminal's own and so is the background they were made for.
        "sixteen" => DARK[..1].to_vec(),
        "sixteen-light" => LIGHT[..1].to_vec(),
        "high-contrast" => DARK.into_iter().chain(LIGHT).collect(),
        other => panic!("for which terminals is `{other}`?"),
    }
}

#[test]
fn t24_every_text_can_be_read_in_every_theme() {
    let mut pale = Vec::new();
    for (name, _) in EMBEDDED {
        for depth in [ColourDepth::True, ColourDepth::Indexed, ColourDepth::None] {
            let theme = Theme::named(name).unwrap().at(depth);
            for (text, ground) in terminals(name) {
                for role in Role::ALL {
                    let style = theme.style(*role);
                    assert!(!style.add_modifier.contains(Modifier::DIM), "{name}: {} is dim", role.name());
                    let contrast = contrast(shown(style.fg, text), shown(style.bg, ground));
                    if contrast < LEAST {
                        pale.push(format!("{name} {depth:?} on {ground:?}: {} {contrast:.2}", role.name()));
                    }
                }
            }
        }
    }
    assert!(pale.is_empty(), "{}", pale.join("\n"));
}

#[test]
fn the_themes_for_sixteen_colours_use_no_others() {
    for name in ["sixteen", "sixteen-light", "high-contrast"] {
        let theme = Theme::named(name).unwrap();
        let reduced = theme.at(ColourDepth::Sixteen);
        assert_eq!(theme.styles, reduced.styles, "{name}");
        assert_eq!(theme.ground(), None, "{name} has a background of its own");
    }
}
