//! Whether the terminal knows links (OSC 8).

/// Terminals by `TERM_PROGRAM`, by the beginning of `TERM`, and by a variable of their own.
const PROGRAMS: [&str; 8] = ["Hyper", "Tabby", "WezTerm", "ghostty", "iTerm.app", "mintty", "rio", "vscode"];
const TERMS: [&str; 7] = ["alacritty", "contour", "foot", "rio", "wezterm", "xterm-ghostty", "xterm-kitty"];
const VARIABLES: [&str; 5] = ["ALACRITTY_WINDOW_ID", "DOMTERM", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "WT_SESSION"];

/// Terminals built on VTE know links from 0.50 on.
const VTE: u32 = 5_000;

/// Whether a terminal that goes by these variables is known to make links of OSC 8. A multiplexer in between passes them
/// on only when it was told to, so inside one the answer is no.
#[must_use]
pub fn are_known(environment: &dyn Fn(&str) -> Option<String>) -> bool {
    let set = |name: &str| environment(name).filter(|text| !text.is_empty());
    if let Some(forced) = set("FORCE_HYPERLINK") {
        return !matches!(forced.as_str(), "0" | "false");
    }
    let term = set("TERM").unwrap_or_default();
    if term == "dumb" || ["TMUX", "STY", "ZELLIJ"].iter().any(|name| set(name).is_some()) {
        return false;
    }
    let is_term = |name: &&str| term.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    set("TERM_PROGRAM").is_some_and(|program| PROGRAMS.contains(&program.as_str()))
        || TERMS.iter().any(is_term)
        || VARIABLES.iter().any(|name| set(name).is_some())
        || set("VTE_VERSION").and_then(|version| version.parse().ok()).is_some_and(|version: u32| version >= VTE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_terminals_that_are_known_to_know() {
        let known = |variables: &[(&str, &str)]| {
            are_known(&|name| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned()))
        };
        assert!(!known(&[("TERM", "xterm-256color")]));
        assert!(known(&[("TERM", "xterm-kitty")]));
        assert!(known(&[("TERM", "foot-extra")]) && !known(&[("TERM", "footless")]));
        assert!(known(&[("TERM", "xterm-256color"), ("VTE_VERSION", "7600")]));
        assert!(!known(&[("TERM", "xterm-256color"), ("VTE_VERSION", "4400")]));
        assert!(!known(&[("TERM_PROGRAM", "WezTerm"), ("TMUX", "/tmp/tmux")]));
        assert!(known(&[("TMUX", "/tmp/tmux"), ("FORCE_HYPERLINK", "1")]));
        assert!(!known(&[("TERM", "xterm-kitty"), ("FORCE_HYPERLINK", "0")]));
    }
}
