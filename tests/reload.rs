//! What a person saves while the screen is open counts at once, and what does not read is told and changes nothing.

use crate::support::model_server::{KEY, ModelServer};

use crate::support::terminal::{Home, Terminal, poll, write};
use std::fs;
use std::path::Path;

/// Saves until the screen shows `shown`: the first save may come before anybody watches.
fn save(terminal: &Terminal, path: &Path, text: &str, shown: &str) {
    let mut waited = 0_u32;
    poll(&format!("{} is taken in: {}", path.display(), terminal.screen_text()), || {
        if waited.is_multiple_of(400) {
            write(path, text);
        }
        waited += 1;
        terminal.screen_text().contains(shown)
    });
}

#[test]
fn a_saved_keymap_counts_and_a_broken_one_does_not() {
    let home = Home::new();
    let terminal = home.levain_in_terminal(&["--model", "scripted/demo"]).start();
    terminal.wait_for("ctrl-t threads");
    let keymap = home.config().join("keymap.toml");
    let bind = |command: &str| {
        format!(
            "bind = [\n  {{ keys = \"ctrl-t\", command = \"none\", context = \"composer\" }},\n  \
             {{ keys = \"f9\", command = \"{command}\", context = \"composer\" }},\n]\n"
        )
    };
    save(&terminal, &keymap, &bind("threads.show"), "F9 threads");
    save(&terminal, &keymap, &bind("threads.shoe"), "threads.shoe");
    terminal.wait_for("F9 threads");
    terminal.leave();
}

#[test]
fn s16_a_problem_that_was_mended_leaves_the_screen() {
    let home = Home::new();
    let terminal = home.levain_in_terminal(&[]).size(160, 30).start();
    terminal.wait_for("ctrl-t threads");
    let config = home.config();
    let item = "```xml\n<directive name=\"ship\" version=\"1.0.0\"><metadata><description>d</description><context>\
                <provider>tiem</provider></context></metadata></directive>\n```\nShip.\n";
    let provider = |timeout: &str| {
        format!("tool_id: own\nwire: chat\nconfig:\n  url: http://127.0.0.1:1/v1\n  timeout: {timeout}\n")
    };
    let cases = [
        (
            config.join("keymap.toml"),
            "bind = [{ keys = \"f9\", command = \"threads.shoe\" }]\n".to_owned(),
            "threads.shoe",
            "bind = []\n".to_owned(),
        ),
        (config.join("config.toml"), "mouze = true\n".to_owned(), "did you mean `mouse`?", "mouse = true\n".to_owned()),
        (
            config.join("config.toml"),
            "directive = \"levain/caht\"\n".to_owned(),
            "did you mean `levain/chat`",
            "mouse = true\n".to_owned(),
        ),
        (
            config.join("config.toml"),
            "model = \"openia/gpt-4o\"\n".to_owned(),
            "did you mean `openai`?",
            "mouse = true\n".to_owned(),
        ),
        (
            config.join("config.toml"),
            "theme = \"drak\"\n".to_owned(),
            "did you mean `dark`?",
            "theme = \"dark\"\n".to_owned(),
        ),
        (
            config.join("themes/dark.toml"),
            "\"status.eror\" = \"red\"\n".to_owned(),
            "did you mean `status.error`",
            "\"status.error\" = \"red\"\n".to_owned(),
        ),
        (
            home.project().join(".ai/directives/team/ship.md"),
            item.to_owned(),
            "did you mean `time`",
            item.replace("tiem", "time"),
        ),
        (
            home.home().join(".ai/tools/providers/own.yaml"),
            provider("soon"),
            "`timeout` cannot be soon",
            provider("60"),
        ),
    ];
    let said: Vec<&str> = cases.iter().map(|(_, _, told, _)| *told).collect();
    for (path, bad, told, good) in cases {
        save(&terminal, &path, &bad, told);
        // Another save in between neither mends nor forgets it.
        write(&home.project().join(".ai/knowledge/else.md"), "```yaml\nname: else\n```\nText.\n");
        write(&path, &good);
        terminal.wait_gone(told);
    }
    terminal.send_keys("/notices\r");
    terminal.wait_gone("/notices");
    let notices = terminal.screen_text();
    assert!(said.iter().all(|told| !notices.contains(told)), "{notices}");
    terminal.send_keys("q");
    terminal.leave();
}

#[test]
fn s16_a_folder_that_was_removed_and_made_again_is_watched_again() {
    let home = Home::new();
    let terminal = home.levain_in_terminal(&[]).size(220, 30).start();
    terminal.wait_for("ctrl-t threads");
    let folder = home.project().join(".ai/directives");
    let item = folder.join("team/ship.md");
    let directive = |provider: &str| {
        format!(
            "```xml\n<directive name=\"ship\" version=\"1.0.0\"><metadata><description>d</description><context>\
             <provider>{provider}</provider></context></metadata></directive>\n```\nShip.\n"
        )
    };
    save(&terminal, &item, &directive("tiem"), "did you mean `time`");
    // As git does when it changes the branch: the folder goes, and one of the same name comes.
    for removed in [folder.clone(), home.project().join(".ai"), folder] {
        fs::remove_dir_all(&removed).unwrap();
        terminal.wait_gone("did you mean");
        write(&item, &directive("time"));
        save(&terminal, &item, &directive("persoma"), "did you mean `persona`");
        write(&item, &directive("time"));
        terminal.wait_gone("did you mean");
        save(&terminal, &item, &directive("memroy"), "did you mean `memory`");
    }
    // A folder that is moved here is as if each of its files were saved.
    write(&item, &directive("time"));
    terminal.wait_gone("did you mean");
    let made = home.project().join("made");
    write(&made.join("dock.md"), &directive("persoma").replace("ship", "dock"));
    fs::rename(&made, home.project().join(".ai/directives/yard")).unwrap();
    terminal.wait_for("did you mean `persona`");
    terminal.leave();
}

#[test]
fn saved_settings_themes_and_items_are_looked_at() {
    let home = Home::new();
    let terminal = home.levain_in_terminal(&[]).size(160, 30).start();
    terminal.wait_for("ctrl-t threads");
    let theme = home.config().join("themes/mine.toml");
    write(&theme, "\"bar.key\" = \"#102030\"\n\"bar.word\" = \"#102030\"\n\"bar\" = \"#102030\"\n");
    let config = home.config().join("config.toml");
    let is_drawn = |colour| {
        terminal.wait_until("the theme is drawn with", move |screen| {
            let cells = (0..30).flat_map(|row| (0..160).filter_map(move |column| screen.cell(row, column)));
            cells.into_iter().any(|cell| cell.fgcolor() == colour)
        });
    };
    // A mistake anywhere in it, and all of the file waits until it is mended.
    save(&terminal, &config, "theme = \"mine\"\nmouze = true\n", "did you mean `mouse`?");
    write(&config, "theme = \"mine\"\n");
    is_drawn(vt100::Color::Rgb(0x10, 0x20, 0x30));
    save(&terminal, &config, "theme = 7\n", "`theme` cannot be 7");
    is_drawn(vt100::Color::Rgb(0x10, 0x20, 0x30));
    let set = "theme = \"mine\"\nmodel = \"scripted/other\"\n";
    save(&terminal, &config, set, " other · scripted");
    let directive = home.project().join(".ai/directives/team/ship.md");
    save(
        &terminal,
        &directive,
        "```xml\n<directive version=\"1.0.0\"></directive>\n```\nShip.\n",
        "the directive has no name",
    );
    terminal.leave();
}

#[test]
fn saved_settings_of_mouse_and_links_count_at_once() {
    let (home, server) = (Home::new(), ModelServer::start());
    let launch = home.levain_in_terminal(&["--model", "anthropic/test-model"]);
    let terminal = launch.env("ANTHROPIC_BASE_URL", &server.base()).env("ANTHROPIC_API_KEY", KEY).start();
    terminal.wait_for("test-model");
    terminal.send_keys("a link\r");
    server.call().answer("See [the page](https://example.org/page).");
    terminal.wait_for("(https://example.org/page)");
    let has_mouse = || terminal.look(|screen| screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None);
    assert!(has_mouse());
    let config = home.config().join("config.toml");
    save(&terminal, &config, "mouse = false\nlinks = \"on\"\n", "the terminal uses the mouse");
    terminal.wait_gone("(https://example.org/page)");
    assert!(!has_mouse());
    let links = || terminal.bytes().windows(4).filter(|bytes| bytes == b"\x1b]8;").count();
    assert!(links() > 0, "the label is a link now");
    // What the person chose by command stays, while the setting says what it said.
    terminal.send_keys("/mouse\r");
    poll("the mouse is back", has_mouse);
    write(&config, "mouse = false\nlinks = \"off\"\n");
    terminal.wait_for("(https://example.org/page)");
    assert!(has_mouse());
    terminal.leave();
}

#[test]
fn an_edited_item_shows_in_the_preview_by_itself() {
    let home = Home::new();
    let item = home.project().join(".ai/knowledge/team/rules.md");
    let rules = |number: u32| format!("```yaml\nname: rules\n```\n\nRule number {number}.\n");
    write(&item, &rules(0));
    let directive = "```xml\n<directive name=\"ship\" version=\"1.0.0\"><metadata><context><system>team/rules</system></context></metadata>\
                     </directive>\n```\nShip.\n";
    write(&home.project().join(".ai/directives/team/ship.md"), directive);
    let terminal = home.levain_in_terminal(&["--model", "scripted/demo", "team/ship"]).size(160, 30).start();
    terminal.wait_for("enter start");
    terminal.send_keys("go\x10");
    terminal.wait_for("what Enter would send");
    terminal.send_keys("/team/rules\r");
    terminal.wait_for("Rule number 0.");
    save(&terminal, &item, &rules(1), "Rule number 1.");
    terminal.wait_for("changed since you looked: team/rules");
    for number in 2..8 {
        write(&item, &rules(number));
        terminal.wait_for(&format!("Rule number {number}."));
    }
    terminal.leave();
}
