//! Settings, keys, themes, provider files, scenarios and the catalog of models.
#![no_main]

use levain::commands::Keymap;
use levain::config::{Arguments, Config, Dirs, PROJECT_FILE};
use levain::domain::Space;
use levain::providers::scripted::scenario::Scenario;
use levain::providers::{Catalog, ProviderFile};
use levain::ui::theme::Theme;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let _keymap = Keymap::with_user(&text, std::path::Path::new("keymap.toml"));
    let _theme = Theme::from_toml(&text, std::path::Path::new("theme.toml"));
    let _provider = ProviderFile::parse(&text, Space::User, Path::new("provider.yaml"));
    let _scenario = Scenario::parse(&text);
    let _catalog = Catalog::parse(&text);
    let project = std::env::temp_dir().join(format!("levain-fuzz-{}", std::process::id()));
    let file = project.join(PROJECT_FILE);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, bytes).unwrap();
    let (_config, problems) = Config::load(&Dirs::new(&|_| None), Some(&project), &|_| None, Arguments::default());
    let lines = u32::try_from(text.lines().count()).unwrap() + 1;
    for problem in problems {
        assert!(problem.line.unwrap_or(1) <= lines, "line {:?} of {lines}", problem.line);
    }
});
