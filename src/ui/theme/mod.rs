//! Themes: which role is drawn in which style. A theme file has one line for a role, `"status.error" = "red bold"`; a
//! role that it leaves out looks like its parent, the role without the last word.

mod colour;
#[cfg(test)]
mod contrast;
mod role;

pub use colour::ColourDepth;
pub use role::Role;

use crate::commands::line_of;
use crate::domain::{Problem, Severity, nearest};
use ratatui::style::{Color, Modifier, Style};
use std::path::Path;
use toml::de::DeTable;

const EMBEDDED: [(&str, &str); 5] = [
    ("dark", include_str!("../../../themes/dark.toml")),
    ("light", include_str!("../../../themes/light.toml")),
    ("high-contrast", include_str!("../../../themes/high-contrast.toml")),
    ("sixteen", include_str!("../../../themes/sixteen.toml")),
    ("sixteen-light", include_str!("../../../themes/sixteen-light.toml")),
];

/// What to do about a style that does not read.
const STYLE: &str = "write for example \"red bold on #002040\"";

/// A style for every role.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    pub name: String,
    styles: Vec<Style>,
    depth: ColourDepth,
}

/// What the colours of a terminal mean in text of extensions, which name roles: an error of theirs is red, what counts cyan
/// (`assets/extensions/host/theme.js`).
const MEANT: [(Color, Role); 7] = [
    (Color::Red, Role::StatusError),
    (Color::Green, Role::StatusOk),
    (Color::Yellow, Role::StatusWarning),
    (Color::Blue, Role::MarkdownLink),
    (Color::Magenta, Role::Tool),
    (Color::Cyan, Role::Key),
    (Color::DarkGray, Role::TextMuted),
];

impl Theme {
    /// A theme that came with the program.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let (theme, problems) = Self::from_toml(Self::text(name)?, Path::new(name));
        debug_assert!(problems.is_empty(), "{problems:?}");
        Some(theme)
    }

    /// The file of a theme that came with the program.
    #[must_use]
    pub fn text(name: &str) -> Option<&'static str> {
        EMBEDDED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// The name of the theme for a terminal with such a background and so many colours.
    #[must_use]
    pub fn fitting(light: bool, depth: ColourDepth) -> &'static str {
        match (light, depth) {
            (false, ColourDepth::Sixteen) => "sixteen",
            (true, ColourDepth::Sixteen) => "sixteen-light",
            (false, ColourDepth::None | ColourDepth::Indexed | ColourDepth::True) => "dark",
            (true, ColourDepth::None | ColourDepth::Indexed | ColourDepth::True) => "light",
        }
    }

    /// Names of the themes that came with the program.
    #[must_use]
    pub fn names() -> Vec<String> {
        EMBEDDED.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    /// A theme from a file; its name is that of the file without folder and ending. A mistake costs its line.
    #[must_use]
    pub fn from_toml(text: &str, file: &Path) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let mut report = |at: usize, message: String, remedy: &str| {
            problems.push(Problem::at(file, line_of(text, at), Severity::Error, message, remedy));
        };
        let mut told: Vec<(Role, Style)> = Vec::new();
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            report(error.span().map_or(0, |span| span.start), error.message().to_owned(), "fix that line");
        }
        for (name, value) in table.get_ref() {
            let Some(role) = Role::from_name(name.get_ref()) else {
                let near = nearest(name.get_ref(), Role::ALL.iter().map(|role| role.name()));
                let all = || "levain theme dark shows a file with all".to_owned();
                let remedy = near.map_or_else(all, |role| format!("did you mean `{role}`?"));
                report(name.span().start, format!("there is no role `{}`", name.get_ref()), &remedy);
                continue;
            };
            match value.get_ref().as_str().map(colour::parse_style) {
                Some(Ok(style)) => told.push((role, style)),
                Some(Err(words)) => report(value.span().start, words, STYLE),
                None => report(value.span().start, "a style is a text".to_owned(), STYLE),
            }
        }
        let style_of = |role: Role| {
            let mut name = role.name();
            loop {
                let own = Role::from_name(name).and_then(|role| told.iter().rev().find(|(known, _)| *known == role));
                if let Some((_, style)) = own {
                    return *style;
                }
                match name.rsplit_once('.') {
                    Some((parent, _)) => name = parent,
                    None => return Style::new(),
                }
            }
        };
        let styles = Role::ALL.iter().map(|role| style_of(*role)).collect();
        problems.sort_by_key(|problem| problem.line);
        let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        (Self { name, styles, depth: ColourDepth::True }, problems)
    }

    /// The style of a role.
    #[must_use]
    pub fn style(&self, role: Role) -> Style {
        self.styles.get(role as usize).copied().unwrap_or_default()
    }

    /// What an empty cell looks like, where that is not what the terminal shows by itself.
    #[must_use]
    pub fn ground(&self) -> Option<Style> {
        let text = self.style(Role::Text);
        let own = |colour: Option<Color>| colour.is_some_and(|colour| colour != Color::Reset);
        (own(text.fg) || own(text.bg) || !text.add_modifier.is_empty()).then_some(text)
    }

    /// This theme in the colours a terminal has.
    #[must_use]
    pub fn at(&self, depth: ColourDepth) -> Self {
        let styles = self.styles.iter().map(|style| colour::reduce(*style, depth)).collect();
        Self { name: self.name.clone(), styles, depth }
    }

    /// A style that came from elsewhere, in the colours the terminal has: what it takes back is what the theme has there, and
    /// letters in a colour that means something are in the theme's colour for that.
    #[must_use]
    pub fn fit(&self, style: Style) -> Style {
        let own = |colour: Option<Color>| colour.filter(|colour| *colour != Color::Reset);
        let meant = |colour: Color| {
            let role = MEANT.iter().find(|(known, _)| *known == colour).map(|(_, role)| *role);
            role.and_then(|role| self.style(role).fg).unwrap_or(colour)
        };
        let style = Style { fg: own(style.fg).map(meant), bg: own(style.bg), underline_color: None, ..style };
        colour::reduce(style, self.depth)
    }
}

impl Default for Theme {
    /// The theme for dark terminals.
    fn default() -> Self {
        let (_, text) = EMBEDDED[0];
        Self::from_toml(text, Path::new("dark")).0
    }
}

/// Emphasis that text brings along, whatever its role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Emphasis(u8);

impl Emphasis {
    pub const BOLD: Self = Self(1);
    pub const ITALIC: Self = Self(2);
    pub const STRUCK: Self = Self(4);
    pub const UNDERLINED: Self = Self(8);

    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// As the terminal's modifiers.
    #[must_use]
    pub fn modifier(self) -> Modifier {
        let all = [
            (Self::BOLD, Modifier::BOLD),
            (Self::ITALIC, Modifier::ITALIC),
            (Self::STRUCK, Modifier::CROSSED_OUT),
            (Self::UNDERLINED, Modifier::UNDERLINED),
        ];
        let mut modifier = Modifier::empty();
        for (bit, on) in all {
            if self.0 & bit.0 != 0 {
                modifier |= on;
            }
        }
        modifier
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::style::Color;

    #[test]
    fn the_themes_that_come_along_are_whole() {
        for (name, text) in EMBEDDED {
            let (_, problems) = Theme::from_toml(text, Path::new(name));
            assert_eq!(problems, [], "{name}");
            assert!(Theme::named(name).is_some());
        }
    }

    #[test]
    fn a_role_looks_like_its_parent() {
        let (theme, problems) =
            Theme::from_toml("\"status\" = \"red\"\n\"status.error\" = \"bold\"", Path::new("x/mine.toml"));
        assert_eq!(problems, []);
        assert_eq!(theme.name, "mine");
        assert_eq!(theme.style(Role::StatusWarning).fg, Some(Color::Red));
        assert_eq!(theme.style(Role::StatusError), Style::new().add_modifier(Modifier::BOLD));
    }

    #[test]
    fn colours_that_mean_something_are_the_themes() {
        let (theme, _) = Theme::from_toml("\"status.ok\" = \"#00ff00\"\n\"key\" = \"bold\"", Path::new("mine.toml"));
        let fg = |theme: &Theme, colour| theme.fit(Style::new().fg(colour)).fg;
        assert_eq!(fg(&theme, Color::Green), Some(Color::Rgb(0, 255, 0)));
        // One that the theme leaves to the terminal, one that means nothing, and none.
        assert_eq!(fg(&theme, Color::Cyan), Some(Color::Cyan));
        assert_eq!(fg(&theme, Color::Rgb(1, 2, 3)), Some(Color::Rgb(1, 2, 3)));
        assert_eq!(fg(&theme, Color::Reset), None);
        assert_eq!(fg(&theme.at(ColourDepth::Sixteen), Color::Green), Some(Color::LightGreen));
        assert_eq!(fg(&theme.at(ColourDepth::None), Color::Green), None);
    }

    #[test]
    fn a_bad_line_costs_itself() {
        let text = "\"status.error\" = \"rde\"\n\"moon\" = \"red\"\n\"status.warning\" = \"#ff0000 on 17 bold\"\n";
        let (theme, problems) = Theme::from_toml(text, Path::new("mine.toml"));
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            problems,
            [
                "mine.toml:1: `rde` is neither a colour nor a way to stress; write for example \"red bold on #002040\"",
                "mine.toml:2: there is no role `moon`; levain theme dark shows a file with all"
            ]
        );
        let style = theme.style(Role::StatusWarning);
        assert_eq!((style.fg, style.bg), (Some(Color::Rgb(255, 0, 0)), Some(Color::Indexed(17))));
        let sixteen = theme.at(ColourDepth::Sixteen).style(Role::StatusWarning);
        assert_eq!(sixteen.fg, Some(Color::LightRed));
        let none = theme.at(ColourDepth::None).style(Role::StatusWarning);
        assert_eq!((none.fg, none.bg), (None, None));
        assert!(none.add_modifier.contains(Modifier::BOLD));
    }
}
