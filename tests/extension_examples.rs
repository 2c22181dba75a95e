//! The example extensions of pi in conversations with a scripted model: what a person sees when they use each.
//!
//! Their files are not part of this project: `scripts/pi-examples` fetches them and says where they are, which
//! `LEVAIN_PI_EXAMPLES` names. Without that there is nothing to test. A table of what each came to is printed.

#![allow(clippy::print_stdout, reason = "the table")]

use crate::support::{terminal, wire_server};
use serde_json::{Value, json};
use std::cell::Cell;
use std::fmt::Write as _;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use terminal::{Home, Terminal, key};
use wire_server::WireServer;

/// A person at the screen, whose own extension is the example.
struct Conversation {
    home: Home,
    terminal: Terminal,
    answers: usize,
}

/// A model that calls this tool once it is asked with these words.
fn calls(words: &str, tool: &str, input: &Value) -> [Value; 2] {
    [
        json!({"when": {"after_tool": tool}, "steps": [{"text": "Done."}]}),
        json!({"when": {"contains": words}, "steps": [{"tool_call": {"name": tool, "input": input}}]}),
    ]
}

/// How a conversation begins.
struct Begin<'a> {
    example: &'a Path,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Begin<'_> {
    fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A model that replies so, and files that are there.
    fn with(&self, replies: &[Value], prepare: impl FnOnce(&Home)) -> Conversation {
        Conversation::new(self, replies, prepare)
    }
}

impl Conversation {
    fn new(begin: &Begin<'_>, replies: &[Value], prepare: impl FnOnce(&Home)) -> Self {
        let (home, example) = (Home::new(), begin.example);
        let folder = home.home().join(".pi/agent/extensions");
        fs::create_dir_all(&folder).unwrap();
        let name = example.file_name().unwrap();
        if example.is_dir() {
            fs::create_dir(folder.join(name)).unwrap();
            for entry in fs::read_dir(example).unwrap().filter_map(Result::ok) {
                let to = folder.join(name).join(entry.file_name());
                if entry.path().is_file() {
                    fs::copy(entry.path(), to).unwrap();
                } else {
                    // Its packages.
                    std::os::unix::fs::symlink(entry.path(), to).unwrap();
                }
            }
        } else {
            fs::copy(example, folder.join(name)).unwrap();
        }
        prepare(&home);
        let script = home.path().join("script.yaml");
        let done = json!({"steps": [{"text": "Done."}]});
        let all = replies.iter().chain([&done]);
        let all = all.fold(String::new(), |mut all, reply| {
            let _never_fails = writeln!(all, "  - {reply}");
            all
        });
        fs::write(&script, format!("name: examples\nrate: 0\nreplies:\n{all}")).unwrap();
        let model = format!("scripted/{}", script.display());
        let arguments: Vec<&str> =
            ["--model", &model].into_iter().chain(begin.arguments.iter().map(String::as_str)).collect();
        let launch = home.levain_in_terminal(&arguments).size(140, 40);
        let terminal = begin.environment.iter().fold(launch, |launch, (name, value)| launch.env(name, value)).start();
        terminal.wait_for("A new thread");
        Self { home, terminal, answers: 0 }
    }

    /// Sends something and waits for what is shown of it then.
    fn say(&self, words: &str, shows: &str) -> &Self {
        self.terminal.send_keys(words);
        self.terminal.wait_for(words);
        self.terminal.send_keys(key::ENTER);
        self.takes_images(shows)
    }

    /// Sends a prompt and waits until the model has answered.
    fn asks(&mut self, words: &str) -> &Self {
        self.answers += 1;
        let answers = self.answers;
        self.terminal.send_keys(words);
        self.terminal.wait_for(words);
        self.terminal.send_keys(key::ENTER);
        self.terminal.wait_until("it is answered", |screen| screen.contents().matches("Done.").count() >= answers);
        self
    }

    fn takes_images(&self, words: &str) -> &Self {
        self.terminal.wait_for(words);
        self
    }

    /// Allows the call that waits.
    fn allows(&self) -> &Self {
        self.answers("y allow once", "y")
    }

    /// Presses a key until the question is gone, and waits for that after each: one that comes at once answers nothing, and one
    /// that comes too late is for what follows.
    fn answers(&self, question: &str, keys: &str) -> &Self {
        self.takes_images(question);
        let pressed = Cell::new(None::<Instant>);
        terminal::poll("the question is answered", || {
            let stands = self.terminal.screen_text().contains(question);
            if stands && pressed.get().is_none_or(|at| at.elapsed() > Duration::from_millis(700)) {
                self.terminal.send_keys(keys);
                pressed.set(Some(Instant::now()));
            }
            !stands
        });
        self
    }

    /// The events of the only thread.
    fn events(&self, name: &str) -> Vec<Value> {
        let threads = fs::read_dir(self.home.project().join(".ai/agent/threads")).unwrap();
        let log =
            threads.map(|entry| entry.unwrap().path().join("transcript.jsonl")).find(|log| log.is_file()).unwrap();
        let text = fs::read_to_string(log).unwrap();
        let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        records.filter(|record| record["event_type"] == name).map(|record| record["payload"].clone()).collect()
    }
}

fn git(home: &Home) {
    for arguments in [&["init", "-q"][..], &["config", "user.email", "a@b"], &["config", "user.name", "a"]] {
        let done = std::process::Command::new("git").args(arguments).current_dir(home.project()).status().unwrap();
        assert!(done.success());
    }
    fs::write(home.project().join(".gitignore"), ".ai\n").unwrap();
}

type Use = fn(Begin<'_>);

/// What a person does with an example, and what they see.
const EXAMPLES: &[(&str, Use)] = &[
    ("hello.ts", |begin| {
        begin
            .with(&calls("greet", "hello", &json!({"name": "Ada"})), |_| {})
            .say("greet her", "hello")
            .allows()
            .takes_images("Hello, Ada!");
    }),
    ("pirate.ts", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.asks("first");
        one.say("/pirate", "Pirate mode enabled");
        one.asks("hello there");
        assert!(one.events("system_prompt").last().unwrap()["text"].as_str().unwrap().contains("PIRATE MODE"));
    }),
    ("permission-gate.ts", |begin| {
        let one = begin.with(&calls("remove", "rye_bash", &json!({"command": "rm -rf made"})), |_| {});
        one.say("remove it", "Allow?").answers("Allow?", key::ESC).takes_images("Done.");
        assert!(one.events("call_prepared")[0]["blocked"].is_string());
    }),
    ("protected-paths.ts", |begin| {
        let write = json!({"path": ".env", "content": "x"});
        let one = begin.with(&calls("write", "rye_file_system_write", &write), |_| {});
        one.say("write it", "Blocked write to protected path: .env").takes_images("Done.");
        assert!(!one.home.project().join(".env").exists());
    }),
    ("input-transform.ts", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.say("ping", "pong");
        // In an empty draft `?` is the key of the help.
        one.asks("PING me");
        assert_eq!(one.events("cognition_in")[0]["text"], "PING me");
    }),
    ("inline-bash.ts", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.asks("it is !{echo $((20+1))} now");
        assert_eq!(one.events("cognition_in")[0]["text"], "it is 21 now");
        one.takes_images("Expanded 1 inline command");
    }),
    ("dynamic-tools.ts", |begin| {
        let one = begin.with(&calls("echo", "echo_session", &json!({"message": "words"})), |_| {});
        one.say("echo it", "needs approval").allows().takes_images("[session] words");
        one.say("/add-echo-tool other", "Registered dynamic tool: other");
    }),
    ("event-bus.ts", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.asks("first");
        one.say("/emit words", "Event from /emit command: words");
    }),
    ("bookmark.ts", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.asks("first");
        one.say("/bookmark here", "Bookmarked as: here").say("/unbookmark", "Removed bookmark: here");
    }),
    ("commands.ts", |begin| {
        begin.with(&[], |_| {}).say("/commands extension", "/commands - List").answers("--- Extensions", key::ESC);
    }),
    ("session-name.ts", |begin| {
        let one = begin.with(&[], |_| {});
        one.say("/session-name the works", "Session named: the works").say("/session-name", "Session: the works");
    }),
    ("send-user-message.ts", |begin| {
        let one = begin.with(&[], |_| {});
        one.say("/ask some words", "Done.").takes_images("some words").say("/followup more", "more");
    }),
    ("status-line.ts", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.asks("first");
        one.takes_images("✓ Turn 1 complete");
    }),
    ("widget-placement.ts", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.asks("first");
        one.takes_images("Above editor widget").takes_images("Below editor widget");
    }),
    ("system-prompt-header.ts", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.asks("first");
        one.asks("second");
        one.takes_images("System: ").takes_images(" chars");
    }),
    ("rpc-demo.ts", |begin| {
        let mut one = begin.with(&calls("remove", "rye_bash", &json!({"command": "sudo true"})), |_| {});
        one.asks("first");
        one.takes_images("--- RPC Extension UI Demo ---").takes_images("Turn 1 done");
        one.say("/rpc-input", "Enter a value").terminal.send_keys("typed");
        one.answers("Enter a value", key::ENTER).takes_images("You entered: typed");
        one.say("/rpc-editor", "line").answers("asks", key::ESC);
        one.say("remove it", "Dangerous command: sudo true").answers("Dangerous command: sudo true", key::ESC);
        one.takes_images("Command blocked by user");
    }),
    ("timed-confirm.ts", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.asks("first");
        one.say("/timed", "auto-cancel in 5 seconds. Confirm?").takes_images("Cancelled or timed out");
        one.say("/timed-select", "Option B").answers("Pick an option", key::ENTER).takes_images("Selected: Option A");
        one.say("/timed-signal", "Confirm?").takes_images("Dialog timed out (auto-cancelled)");
    }),
    ("model-status.ts", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.asks("first");
        one.say("/model scripted/demo", "Model: scripted/demo").takes_images("🤖 demo");
    }),
    ("trigger-compact.ts", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.asks("first");
        one.say("/trigger-compact", "Compaction started").takes_images("Compaction ");
    }),
    ("shutdown-command.ts", |begin| {
        let one = begin.with(&calls("finish", "finish_and_exit", &json!({})), |_| {});
        one.say("finish it", "needs approval").allows();
        terminal::poll("the worker has ended", || one.events("worker_ended").len() == 1);
    }),
    ("reload-runtime.ts", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.asks("first");
        one.say("/reload-runtime", "loaded again with the next prompt");
    }),
    ("auto-commit-on-exit.ts", |begin| {
        let mut one = begin.with(&[], git);
        one.asks("first");
        let Conversation { home, terminal, .. } = one;
        terminal.leave();
        let log = || {
            let told =
                std::process::Command::new("git").args(["log", "--oneline"]).current_dir(home.project()).output();
            String::from_utf8(told.unwrap().stdout).unwrap()
        };
        terminal::poll("it is committed", || log().contains("[pi] Done."));
    }),
    ("plan-mode", |begin| {
        let one = begin.with(&calls("do it", "rye_bash", &json!({"command": "touch made"})), |_| {});
        one.say("/plan now", "Plan mode enabled");
        one.takes_images("⏸ plan");
        one.say("do it please", "plan-mode/index.ts asks")
            .answers("plan-mode/index.ts asks", key::ESC)
            .takes_images("Done.");
        assert!(!one.home.project().join("made").exists());
    }),
    ("git-checkpoint.ts", |begin| {
        let begins = |home: &Home| {
            git(home);
            fs::write(home.project().join("kept.txt"), "before").unwrap();
            for arguments in [&["add", "kept.txt"][..], &["commit", "-qm", "first"]] {
                let done = std::process::Command::new("git").args(arguments).current_dir(home.project()).status();
                assert!(done.unwrap().success());
            }
            fs::write(home.project().join("kept.txt"), "as it was at that turn").unwrap();
        };
        let mut one = begin.with(&[], begins);
        one.asks("first");
        // What `git stash create` made hangs nowhere, and holds the file as it was.
        let kept = || {
            let found = std::process::Command::new("git")
                .args(["fsck", "--unreachable", "--no-reflogs"])
                .current_dir(one.home.project())
                .output();
            let found = String::from_utf8(found.unwrap().stdout).unwrap();
            let commits = found.lines().filter_map(|line| line.strip_prefix("unreachable commit "));
            commits.map(str::to_owned).find(|commit| {
                let shown = std::process::Command::new("git")
                    .args(["show", &format!("{commit}:kept.txt")])
                    .current_dir(one.home.project())
                    .output();
                shown.unwrap().stdout == b"as it was at that turn"
            })
        };
        terminal::poll("a checkpoint is made", || kept().is_some());
    }),
    ("mac-system-theme.ts", |begin| {
        let tools = tempfile::tempdir().unwrap();
        let (is_dark, program) = (tools.path().join("dark"), tools.path().join("osascript"));
        fs::write(&is_dark, "true").unwrap();
        fs::write(&program, format!("#!/bin/sh\nexec cat {}\n", is_dark.display())).unwrap();
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", tools.path().display(), std::env::var("PATH").unwrap());
        let mut one = begin.variable("PATH", &path).with(&[], |_| {});
        one.asks("first");
        let colour = || {
            one.terminal.look(|screen| {
                let mut cells = (0..40).flat_map(|row| (0..140).filter_map(move |column| screen.cell(row, column)));
                cells.find(|cell| cell.contents() == "◇").map(vt100::Cell::fgcolor)
            })
        };
        let dark = colour();
        assert!(dark.is_some());
        fs::write(&is_dark, "false").unwrap();
        terminal::poll("it is light", || colour() != dark && colour().is_some());
    }),
    ("subagent", |begin| {
        let tools = tempfile::tempdir().unwrap();
        let program = tools.path().join("pi");
        // Stands in for pi's own program: it is told an agent and a task, and tells of its messages.
        let usage =
            json!({"input": 5, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 7, "cost": {"total": 0}});
        let content = json!([{"type": "text", "text": "Found it."}]);
        let message = json!({"type": "message_end", "message": {"role": "assistant", "content": content, "usage": usage,
            "model": "m", "stopReason": "stop"}});
        let script = format!(
            "#!/bin/sh\nfor word; do last=$word; done\n[ \"$last\" = 'Task: look for it' ] || exit 7\necho '{message}'\n"
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", tools.path().display(), std::env::var("PATH").unwrap());
        let input = json!({"agent": "scout", "task": "look for it"});
        let agents = begin.example.join("agents");
        let one = begin.variable("PATH", &path).with(&calls("delegate", "subagent", &input), |home| {
            let to = home.home().join(".pi/agent/agents");
            fs::create_dir_all(&to).unwrap();
            fs::copy(agents.join("scout.md"), to.join("scout.md")).unwrap();
        });
        one.say("delegate it", "needs approval")
            .allows()
            .takes_images("Done.")
            .takes_images("Found it.")
            .takes_images("scout");
        assert_eq!(one.events("tool_call_result")[0]["output"], "Found it.");
    }),
    ("claude-rules.ts", |begin| {
        let mut one = begin.with(&[], |home| {
            fs::create_dir_all(home.project().join(".claude/rules")).unwrap();
            fs::write(home.project().join(".claude/rules/style.md"), "Be brief.").unwrap();
        });
        one.asks("first");
        assert!(one.events("system_prompt")[0]["text"].as_str().unwrap().contains("style.md"));
    }),
    ("provider-payload.ts", |begin| {
        let mut one = begin.with(&[], |home| fs::create_dir_all(home.project().join(".pi")).unwrap());
        one.asks("first");
        let log = one.home.project().join(".pi/provider-payload.log");
        assert!(fs::read_to_string(log).unwrap().contains("first"));
    }),
    ("tool-override.ts", |begin| {
        let read = |path: &str| json!({"path": path});
        let mut replies = calls("look", "rye_file_system_read", &read("a")).to_vec();
        replies.extend(calls("secret", "rye_file_system_read", &read(".env")));
        let one = begin.with(&replies, |home| {
            fs::write(home.project().join("a"), "what a holds").unwrap();
            fs::write(home.project().join(".env"), "hush").unwrap();
        });
        one.say("look at a", "what a holds").say("secret please", "Access denied").say("/read-log", "ALLOWED");
    }),
    ("bash-spawn-hook.ts", |begin| {
        let one = begin.with(&calls("run", "rye_bash", &json!({"command": "echo hooked $PI_SPAWN_HOOK"})), |home| {
            fs::write(home.home().join(".profile"), "").unwrap();
        });
        one.say("run it", "needs approval").allows().takes_images("hooked 1");
    }),
    ("ssh.ts", |begin| {
        let tools = tempfile::tempdir().unwrap();
        // A host of which everything is on this machine, in a folder of its own.
        let remote = tempfile::tempdir().unwrap();
        let ssh = tools.path().join("ssh");
        fs::write(&ssh, "#!/bin/sh\n[ \"$1\" = ada@far ] || exit 9\nFAR=yes exec sh -c \"$2\"\n").unwrap();
        fs::set_permissions(&ssh, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", tools.path().display(), std::env::var("PATH").unwrap());
        let flag = format!("--flag=ssh=ada@far:{}", remote.path().display());
        let begin = begin.variable("PATH", &path).argument(&flag);
        let replies = [
            calls("where", "rye_bash", &json!({"command": "echo far: $FAR; pwd"})),
            calls("write", "rye_file_system_write", &json!({"path": "there.txt", "content": "from here"})),
        ];
        let one = begin.with(&replies.concat(), |_| {});
        one.say("where are you", "needs approval").allows().takes_images("far: yes").takes_images("SSH: ada@far:");
        one.say("!echo own: $FAR", "own: yes");
        one.say("write it", "needs approval").allows();
        let there = || fs::read_to_string(remote.path().join("there.txt")).unwrap_or_default();
        terminal::poll("it is written there", || there() == "from here");
        assert!(!one.home.project().join("there.txt").exists());
    }),
    ("file-trigger.ts", |begin| {
        let trigger = Path::new("/tmp/agent-trigger.txt");
        fs::write(trigger, "").unwrap();
        let mut one = begin.with(&[], |_| {});
        one.asks("first");
        one.takes_images("Watching /tmp/agent-trigger.txt");
        fs::write(trigger, "come here").unwrap();
        one.takes_images("External trigger: come here");
        fs::remove_file(trigger).unwrap();
    }),
    ("custom-header.ts", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.asks("first");
        one.takes_images("shitty coding agent").say("/builtin-header", "Built-in header restored");
        one.terminal.wait_gone("shitty coding agent");
    }),
    ("custom-footer.ts", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.asks("first");
        one.say("/footer", "Custom footer enabled").takes_images("↑").say("/footer", "Default footer restored");
    }),
    ("snake.ts", |begin| {
        let one = begin.with(&[], |_| {});
        one.say("/snake", "Score: 0").terminal.send_keys("q");
        one.terminal.wait_gone("Score: 0");
    }),
    ("space-invaders.ts", |begin| {
        let one = begin.with(&[], |_| {});
        one.say("/invaders", "INVADERS").terminal.send_keys("q");
        one.terminal.wait_gone("Q quit");
    }),
    ("overlay-test.ts", |begin| {
        let one = begin.with(&[], |_| {});
        one.say("/overlay-test", "Overlay Test").terminal.send_keys("words");
        one.takes_images("words").terminal.send_keys(key::ESC);
        one.terminal.wait_gone("Overlay Test");
    }),
    ("overlay-qa-tests.ts", |begin| {
        let one = begin.with(&[], |_| {});
        one.say("/overlay-anchors", "top-left").terminal.send_keys(" ");
        one.takes_images("top-center").terminal.send_keys(key::ENTER);
        one.takes_images("Selected: top-center");
        one.terminal.wait_gone("Current:");
        one.say("/overlay-stack", "Overlay").terminal.send_keys(key::ESC);
    }),
    ("question.ts", |begin| {
        let input = json!({"question": "Which way?", "options": [{"label": "left"}, {"label": "right"}]});
        let one = begin.with(&calls("ask", "question", &input), |_| {});
        one.say("ask me", "needs approval").allows().takes_images("ctrl-c close").terminal.send_keys(key::DOWN);
        one.terminal.send_keys(key::ENTER);
        one.takes_images("right").takes_images("Done.");
    }),
    ("questionnaire.ts", |begin| {
        let option = |label: &str| json!({"value": label, "label": label});
        let input =
            json!({"questions": [{"id": "way", "prompt": "Which way?", "options": [option("left"), option("right")]}]});
        let one = begin.with(&calls("ask", "questionnaire", &input), |_| {});
        one.say("ask me", "needs approval").allows().takes_images("ctrl-c close").terminal.send_keys(key::ENTER);
        one.takes_images("Done.");
        assert!(one.events("tool_call_result")[0]["output"].as_str().unwrap().contains("left"));
    }),
    ("tools.ts", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.asks("first");
        one.say("/tools", "Tool Configuration").terminal.send_keys(key::ENTER);
        one.takes_images("disabled").terminal.send_keys(key::ESC);
        one.terminal.wait_gone("Tool Configuration");
    }),
    ("qna.ts", |begin| {
        let extracted = json!({"when": {"contains": "two questions"}, "steps": [{"text": "Q: How many?\nA: "}]});
        let first =
            json!({"when": {"contains": "first"}, "steps": [{"text": "There are two questions: how many? Done."}]});
        let mut one = begin.with(&[extracted, first], |_| {});
        one.asks("first");
        one.say("/qna", "Questions loaded").takes_images("Q: How many?");
        assert_eq!(one.events("extension_entry")[1]["entry"]["entry"], "model_call");
    }),
    ("handoff.ts", |begin| {
        let made = json!({"when": {"contains": "next part"}, "steps": [{"text": "A prompt for the next part."}]});
        let first = json!({"when": {"contains": "first"}, "steps": [{"text": "Done."}]});
        let mut one = begin.with(&[made, first], |_| {});
        one.asks("first");
        one.say("/extension:handoff do the next part", "Edit handoff prompt");
        one.terminal.wait_until("it is edited", |screen| {
            if screen.contents().contains("Edit handoff prompt") {
                one.terminal.send_keys(key::ENTER);
            }
            !screen.contents().contains("Edit handoff prompt")
        });
        one.takes_images("A new thread").takes_images("A prompt for the next part.");
    }),
    ("confirm-destructive.ts", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.asks("first");
        one.say("/new", "Clear session?")
            .answers("This will delete all messages", key::ESC)
            .takes_images("Clear cancelled");
        one.takes_images("› first")
            .say("/fork", "Fork from entry")
            .answers("Fork from entry", key::ESC)
            .takes_images("Fork cancelled");
    }),
    ("dirty-repo-guard.ts", |begin| {
        let mut one = begin.with(&[], git);
        one.asks("first");
        one.say("/new", "uncommitted file(s)")
            .answers("new session anyway?", key::ESC)
            .takes_images("Commit your changes first");
    }),
    ("titlebar-spinner.ts", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.asks("first");
        let named = || String::from_utf8_lossy(&one.terminal.bytes()).contains("\u{1b}]2;π - project");
        terminal::poll("the window is named", named);
    }),
    ("notify.ts", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.asks("first");
        one.terminal.send_keys("\u{1b}[O");
        one.asks("second");
        let called = || String::from_utf8_lossy(&one.terminal.bytes()).contains("Pi: Ready for input");
        terminal::poll("the person is called", called);
    }),
    ("message-renderer.ts", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.asks("first");
        one.say("/status warn look out", "[WARN] look out");
        assert_eq!(one.events("request_recorded").len(), 1);
        // In full it tells when.
        one.terminal.send_keys("\u{f}");
        one.takes_images("  at ");
    }),
    ("minimal-mode.ts", |begin| {
        // Of its output, what stands neither in the command nor in the name of a thread.
        let input = json!({"command": "seq 99997 99999"});
        let one = begin.with(&calls("count", "rye_bash", &input), |_| {});
        one.say("count up", "needs approval")
            .allows()
            .takes_images("Done.")
            .takes_images("$ seq")
            .terminal
            .wait_gone("99998");
        one.terminal.send_keys("\u{f}");
        one.takes_images("99998");
    }),
    ("built-in-tool-renderer.ts", |begin| {
        let input = json!({"command": "seq 41 43"});
        let one = begin.with(&calls("count", "rye_bash", &input), |_| {});
        one.say("count up", "needs approval")
            .allows()
            .takes_images("Done.")
            .takes_images("$ seq")
            .takes_images("done (3 lines)");
    }),
    ("modal-editor.ts", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.asks("first");
        one.takes_images(" INSERT").terminal.send_keys("hello world");
        one.takes_images("hello world").terminal.send_keys(key::ESC);
        one.takes_images(" NORMAL").terminal.send_keys("0xxiJ");
        one.takes_images("Jllo world").terminal.send_keys(key::ENTER);
        one.takes_images("› Jllo world");
        // What is completed here is in the editor.
        one.terminal.send_keys("/compac");
        one.takes_images("Let the model summarise").terminal.send_keys(key::TAB);
        one.takes_images("/compact");
    }),
    ("rainbow-editor.ts", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.asks("first");
        one.terminal.send_keys("please ultrathink");
        one.terminal.wait_until("it shines", |screen| {
            let coloured = (0..40).flat_map(|row| (0..140).filter_map(move |column| screen.cell(row, column)));
            let letters =
                coloured.filter(|cell| matches!(cell.fgcolor(), vt100::Color::Rgb(..) | vt100::Color::Idx(_)));
            letters.map(vt100::Cell::contents).collect::<String>().contains("ultrathink")
        });
        one.terminal.send_keys(key::ENTER);
        one.takes_images("› please ultrathink");
    }),
    ("interactive-shell.ts", |begin| {
        let one = begin.with(&[], |_| {});
        one.terminal.send_keys("!i echo at $((40+2)); read name; echo hello $name; read wait");
        one.takes_images("read wait").terminal.send_keys(key::ENTER);
        one.takes_images("at 42").terminal.send_keys("ada\r");
        one.takes_images("hello ada").terminal.send_keys("\r");
        one.takes_images("interactive command completed successfully").say("!echo usual", "    usual");
    }),
    ("summarize.ts", |begin| {
        let server = WireServer::start("What was said: a greeting.");
        let begin = begin.variable("OPENAI_BASE_URL", &server.base("/v1")).variable("OPENAI_API_KEY", wire_server::KEY);
        let mut one = begin.with(&[], |_| {});
        one.asks("good morning");
        one.say("/summarize", "Conversation Summary")
            .takes_images("What was said: a greeting.")
            .terminal
            .send_keys(key::ESC);
        one.terminal.wait_gone("Conversation Summary");
        let asked = server.asked();
        assert!(
            asked[0].contains("Summarize this conversation") && asked[0].contains("User: good morning"),
            "{asked:?}"
        );
        assert_eq!(asked.len(), 1);
    }),
    ("custom-compaction.ts", |begin| {
        let server = WireServer::start("Everything so far: a greeting.");
        let begin = begin
            .variable("GOOGLE_GEMINI_BASE_URL", &server.base("/v1beta"))
            .variable("GEMINI_API_KEY", wire_server::KEY);
        let mut one = begin.with(&[], |_| {});
        one.asks("good morning");
        one.asks("and a good day");
        one.say("/compact", "Custom compaction: summarizing");
        terminal::poll("the thread is compacted", || !one.events("context_compacted").is_empty());
        let summary = one.events("context_compacted")[0]["summary"].as_str().unwrap().to_owned();
        assert!(summary.ends_with("Everything so far: a greeting."), "{summary}");
        let asked = server.asked();
        assert!(asked[0].contains("conversation summarizer") && asked[0].contains("good morning"), "{asked:?}");
    }),
    ("with-deps", |begin| {
        let one = begin.with(&calls("how long", "parse_duration", &json!({"duration": "2 days"})), |_| {});
        one.say("how long are they", "needs approval").allows().takes_images("2 days = 172800000 milliseconds");
    }),
    ("dynamic-resources", |begin| {
        let mut one = begin.with(&[], |_| {});
        one.asks("first");
        one.asks("/dynamic with words");
        let joined = one.events("cognition_in").last().unwrap()["text"].as_str().unwrap().to_owned();
        assert!(!joined.starts_with("/dynamic"), "{joined}");
    }),
    ("todo.ts", |begin| {
        let one = begin.with(&calls("add", "todo", &json!({"action": "add", "text": "buy milk"})), |_| {});
        one.say("add one", "needs approval").allows().takes_images("Added todo #1: buy milk");
    }),
    ("truncated-tool.ts", |begin| {
        let one = begin.with(&calls("look", "rg", &json!({"pattern": "nothing-like-this"})), |_| {});
        one.say("look for it", "needs approval").allows().takes_images("Done.");
    }),
    ("preset.ts", |begin| {
        let mut one = begin.with(&[], |home| {
            fs::create_dir_all(home.project().join(".pi")).unwrap();
            let presets = json!({"plan": {"instructions": "Only make plans.", "tools": ["read", "ls"]}});
            fs::write(home.project().join(".pi/presets.json"), presets.to_string()).unwrap();
        });
        one.asks("first");
        one.say("/preset plan", "Preset \"plan\" activated");
        one.asks("second");
        assert!(one.events("system_prompt").last().unwrap()["text"].as_str().unwrap().contains("Only make plans."));
    }),
];

#[test]
fn the_examples_of_pi_do_their_job() {
    let Some(folder) = std::env::var_os("LEVAIN_PI_EXAMPLES").map(PathBuf::from) else { return };
    let only = std::env::var("LEVAIN_PI_EXAMPLE").ok();
    let mut failed = Vec::new();
    for (name, uses) in
        EXAMPLES.iter().filter(|(name, _)| only.as_ref().is_none_or(|only| name.starts_with(only.as_str())))
    {
        let example = folder.join(name);
        let begin = Begin { example: &example, arguments: Vec::new(), environment: Vec::new() };
        let worked = catch_unwind(AssertUnwindSafe(|| uses(begin)));
        println!("{name:<28} {}", if worked.is_ok() { "works" } else { "FAILS" });
        if worked.is_err() {
            failed.push(*name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn the_table_of_the_examples_is_true() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/pi-examples.md");
    let page = fs::read_to_string(page).unwrap();
    let row = |line: &str| {
        let (name, result) = line.strip_prefix("| `")?.split_once("` | ")?;
        Some((name.to_owned(), result.trim_end_matches(" |").to_owned()))
    };
    let rows: Vec<(String, String)> = page.lines().filter_map(row).collect();
    let works: Vec<&str> = rows.iter().filter(|(_, result)| result == "works").map(|(name, _)| name.as_str()).collect();
    let mut used: Vec<&str> = EXAMPLES.iter().map(|(name, _)| *name).collect();
    used.sort_unstable();
    assert_eq!(works, used);
    assert_eq!(rows.len(), 66);
    assert!(rows.iter().all(|(_, result)| !result.is_empty()));
}
