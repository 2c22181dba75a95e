//! The sandbox on the real kernel: what a confined command is refused, what it may, and who is asked when.
//!
//! Where the kernel has no sandbox that holds, these tests look that nothing is taken for confined instead.

use crate::support::terminal::{Home, key, poll, write};
use levain::domain::SandboxMode;
use levain::tools::sandbox::{Confinement, Offered, Sandbox};
use portable_pty::{PtySize, native_pty_system};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A project whose directive `x` grants bash on these terms, and a model that runs `commands` one after the other.
struct Project {
    home: Home,
    model: String,
}

impl Project {
    fn new(permissions: &str, calls: &[Value]) -> Self {
        let home = Home::new();
        let steps: Vec<Value> =
            calls.iter().map(|input| json!({ "tool_call": { "name": "rye_bash", "input": input } })).collect();
        let script = json!({ "name": "s", "rate": 0, "replies": [
            { "when": { "after_tool": "rye_bash" }, "steps": [{ "text": "Done." }] }, { "steps": steps },
        ]});
        write(&home.path().join("s.yaml"), &script.to_string());
        let directive = format!(
            "```xml\n<directive name=\"x\" version=\"1.0.0\"><metadata><description>d</description>\n<permissions>\
             {permissions}<acknowledge risk=\"elevated\">a test</acknowledge></permissions>\n</metadata></directive>\n```\n\
             Do it.\n"
        );
        write(&home.project().join(".ai/directives/x.md"), &directive);
        let project = Self { model: format!("scripted/{}", home.path().join("s.yaml").display()), home };
        let trust = project.home.levain(&["trust"]).stdin(Stdio::null()).output().unwrap();
        assert!(trust.status.success(), "{}", String::from_utf8_lossy(&trust.stderr));
        project
    }

    fn arguments(&self) -> [&str; 7] {
        ["run", "--json", "--model", &self.model, "--directive", "x", "go"]
    }

    fn command(&self) -> Command {
        self.home.levain(&self.arguments())
    }

    /// What each call came to where the program is started in this way; nothing where it cannot be.
    fn run_by(&self, starter: Starter) -> Option<Vec<Outcome>> {
        let words: &[&str] = match starter {
            Starter::Directly => return Some(self.run().0),
            Starter::WithoutMounts => &["--bounding-set=-sys_admin", "--inh-caps=-sys_admin"],
            Starter::AsNobody => &["--reuid=65534", "--regid=65534", "--clear-groups"],
        };
        let plain = self.command();
        let setpriv = |program: &OsStr| {
            let mut command = Command::new("setpriv");
            command.args(words).arg(program).env_clear().envs(self.home.environment()).env("PATH", "/usr/bin:/bin");
            command.stdin(Stdio::null());
            command
        };
        let reachable = setpriv(OsStr::new("test")).arg("-x").arg(plain.get_program()).output();
        if !rustix::process::geteuid().is_root() || !reachable.is_ok_and(|output| output.status.success()) {
            return None;
        }
        if starter == Starter::AsNobody {
            let owned = Command::new("chown").args(["-R", "65534:65534"]).arg(self.home.path()).status();
            assert!(owned.unwrap().success());
        }
        let mut command = setpriv(plain.get_program());
        let Output { stderr, .. } = command.args(plain.get_args()).current_dir(self.home.project()).output().unwrap();
        let outcomes = self.outcomes();
        assert!(!outcomes.is_empty(), "{}", String::from_utf8_lossy(&stderr));
        Some(outcomes)
    }

    /// What each call came to, in order, and how the run ended.
    fn run(&self) -> (Vec<Outcome>, i32) {
        let Output { status, stderr, .. } = self.command().stdin(Stdio::null()).output().unwrap();
        let outcomes = self.outcomes();
        assert!(!outcomes.is_empty(), "{}", String::from_utf8_lossy(&stderr));
        (outcomes, status.code().unwrap_or(-1))
    }

    fn events(&self) -> Vec<Value> {
        let threads = self.home.project().join(".ai/agent/threads");
        let logs = fs::read_dir(threads).into_iter().flatten().flatten();
        let text: String =
            logs.filter_map(|entry| fs::read_to_string(entry.path().join("transcript.jsonl")).ok()).collect();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    fn outcomes(&self) -> Vec<Outcome> {
        let results = self.events().into_iter().filter(|event| event["event_type"] == "tool_call_result");
        let outcome = |event: Value| Outcome {
            output: event["payload"]["output"].as_str().unwrap_or_default().to_owned(),
            failed: event["payload"].get("error").is_some(),
        };
        results.map(outcome).collect()
    }
}

/// How the program is started. The last two are for tests that root runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Starter {
    Directly,
    /// By root, who may mount nothing: Landlock is alone then.
    WithoutMounts,
    AsNobody,
}

const STARTERS: [Starter; 3] = [Starter::Directly, Starter::WithoutMounts, Starter::AsNobody];

#[derive(Debug)]
struct Outcome {
    output: String,
    failed: bool,
}

const SANDBOXED: &str = "<execute sandbox=\"true\"><tool>rye/bash</tool></execute>";

/// A command under a keeper of its own, held to what `sandbox` allows. It ends when its input closes.
fn kept(home: &Home, confinement: &Confinement, script: &str) -> Child {
    let mut command = home.levain(&["keep", "bash", "-c", script]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let line = json!({ "input": "nothing", "confinement": confinement });
    writeln!(child.stdin.as_mut().unwrap(), "{line}").unwrap();
    child
}

/// What it printed, when it has ended by itself.
fn printed(mut child: Child) -> String {
    let input = child.stdin.take();
    let Output { stdout, stderr, .. } = child.wait_with_output().unwrap();
    drop(input);
    String::from_utf8([stdout, stderr].concat()).unwrap()
}

fn sandbox_of(home: &Home) -> Sandbox {
    let own = vec![home.config()];
    Sandbox { mode: SandboxMode::Auto, root: home.project(), home: home.home(), own }
}

/// What is in the folder, with what is in the folders of that.
fn all_below(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries
        .flat_map(|path| if path.is_dir() { all_below(&path) } else { BTreeSet::new() }.into_iter().chain([path]))
        .collect()
}

fn git(folder: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=n", "-c", "user.email=n@example.org"]).args(words).current_dir(folder);
    let Output { status, stdout, stderr } = command.env("HOME", folder).output().unwrap();
    assert!(status.success(), "git {words:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

fn is_out(outcome: &Outcome) -> bool {
    outcome.output.lines().any(|line| line.trim() == "out")
}

fn commands(all: &[String]) -> Vec<Value> {
    all.iter().map(|command| json!({ "command": command })).collect()
}

/// Where there is no sandbox that holds, a call that is granted in one only is not run without a word.
fn without_a_sandbox() -> bool {
    if Offered::here().holds() {
        return false;
    }
    let (outcomes, code) = Project::new(SANDBOXED, &[json!({ "command": "touch ran" })]).run();
    assert!(outcomes[0].failed && outcomes[0].output.contains("Approval needed"), "{outcomes:?}");
    assert_eq!(code, 4);
    true
}

/// Each tries to get out in its own way and prints `out` or leaves a trace where it did.
#[test]
fn every_way_out_is_refused() {
    if without_a_sandbox() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let socket_folder = tempfile::tempdir().unwrap();
    let socket = socket_folder.path().join("s");
    let _control = UnixListener::bind(&socket).unwrap();
    let python = |code: &str| format!("python3 -c '{code}'");
    let connect = format!("import socket; socket.create_connection((\"127.0.0.1\", {port}), 2); print(\"out\")");
    let fast_open = format!(
        "import socket; s = socket.socket(); s.sendto(b\"x\", 0x20000000, (\"127.0.0.1\", {port})); print(\"out\")"
    );
    let unix =
        format!("import socket; socket.socket(socket.AF_UNIX).connect(\"{}\"); print(\"out\")", socket.display());
    let ways: Vec<(&str, String)> = vec![
        ("a file beside the project", "echo x > ../outside && echo out".into()),
        ("through ..", "echo x > src/../../outside && echo out".into()),
        ("through a link to a folder", "echo x > link/outside && echo out".into()),
        ("through a link to a file", "echo x > secret-link && echo out".into()),
        ("through a link made inside", "ln -s .. up && echo x > up/outside && echo out".into()),
        ("an absolute path", format!("echo x > {}/outside && echo out", "HOME")),
        ("moving a file out", "touch moved && mv moved ../outside && echo out".into()),
        ("a hard link to a secret", "ln ../home/.ssh/id_test hard && cat hard && echo out".into()),
        ("reading a secret", "cat ../home/.ssh/id_test && echo out".into()),
        ("reading the credentials", "cat ../config/levain/credentials.toml && echo out".into()),
        ("reading the key of logs", "cat ../state/levain/log.key && echo out".into()),
        ("another thread's folder", "ls .ai/agent/threads && echo x > .ai/agent/threads/x && echo out".into()),
        ("writing items", "mkdir -p .ai/tools && echo x > .ai/tools/evil.sh && echo out".into()),
        ("putting the items aside", "mv .ai .ai2 && mkdir .ai && echo out".into()),
        ("a hook of git", "echo x > .git/hooks/pre-commit && echo out".into()),
        ("the settings of git", "git config core.hooksPath /tmp; grep hooksPath .git/config && echo out".into()),
        ("putting the repository aside", "mv .git .git2 && mkdir -p .git/hooks && echo out".into()),
        ("another process's root", "ls /proc/1/root/ && echo out".into()),
        ("the keeper's root", "ls /proc/$PPID/root/ && echo out".into()),
        ("the worker's environment", "cat /proc/$PPID/environ && echo out".into()),
        ("a signal to the keeper", "kill -9 $PPID && echo out".into()),
        ("a signal to everybody else", "kill -9 1 && echo out".into()),
        (
            "tracing the keeper",
            python(
                "import ctypes, os, sys; r = ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0); print(\"out\" if r == 0 else \"no\")",
            ),
        ),
        ("TCP", python(&connect)),
        ("TCP by fast open", python(&fast_open)),
        ("UDP", python("import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM); print(\"out\")")),
        ("a name's address", "getent ahostsv4 localhost.example.org && echo out".into()),
        ("a socket that is a file", python(&unix)),
        (
            "an abstract socket",
            python("import socket; socket.socket(socket.AF_UNIX).bind(\"\\0levain-test\"); print(\"out\")"),
        ),
        ("rings", python("import ctypes; print(\"out\" if ctypes.CDLL(None).syscall(425, 4, 0) >= 0 else \"no\")")),
        (
            "a program in memory",
            python(
                "import os; f = os.memfd_create(\"x\"); os.write(f, open(\"/bin/sh\", \"rb\").read()); os.execv(f\"/proc/self/fd/{f}\", [\"sh\", \"-c\", \"echo x > ../outside && echo out\"])",
            ),
        ),
        (
            "a session of its own",
            "setsid sh -c 'sleep 0.1; echo x > ../outside' && echo x > ../outside && echo out".into(),
        ),
        ("mounting", "mount -t tmpfs none src && echo out".into()),
        ("taking a mount away", "umount .ai && echo out".into()),
        (
            "a namespace in which it is root",
            "unshare -rm sh -c 'umount .git/hooks; echo x > .git/hooks/a && echo out'".into(),
        ),
    ];
    let scripts: Vec<String> = ways.iter().map(|(_, script)| script.clone()).collect();
    let project = Project::new(SANDBOXED, &commands(&scripts));
    let (home, folder) = (&project.home, project.home.project());
    for path in ["src/a.txt", ".git/hooks/sample", ".git/config", ".git/HEAD"] {
        write(&folder.join(path), "as it was\n");
    }
    write(&home.path().join("home/.ssh/id_test"), "the-secret-key");
    write(&home.config().join("credentials.toml"), "# the-secret-key\n");
    fs::set_permissions(home.config().join("credentials.toml"), PermissionsExt::from_mode(0o600)).unwrap();
    symlink(home.path(), folder.join("link")).unwrap();
    symlink("../home/.ssh/id_test", folder.join("secret-link")).unwrap();
    let (outcomes, code) = project.run();
    assert_eq!((outcomes.len(), code), (ways.len(), 0));
    for ((name, _), Outcome { output, .. }) in ways.iter().zip(&outcomes) {
        let is_out = output.lines().any(|line| line.trim() == "out");
        assert!(!is_out && !output.contains("the-secret-key"), "{name}: {output}");
    }
    assert!(!home.path().join("outside").exists(), "somebody wrote beside the project");
    assert_eq!(fs::read_to_string(home.path().join("home/.ssh/id_test")).unwrap(), "the-secret-key");
    assert_eq!(fs::read_to_string(folder.join(".git/config")).unwrap(), "as it was\n");
    assert_eq!(fs::read_dir(folder.join(".git/hooks")).unwrap().count(), 1);
    assert!(!folder.join(".ai/tools").exists() && !folder.join(".ai2").exists() && !folder.join(".git2").exists());
    let kept = outcomes[0].output.as_str();
    assert!(kept.contains("The sandbox seems to have refused this") && kept.contains("write_paths"), "{kept}");
    home.wait_until_quiet();
}

#[test]
fn what_is_inside_works_without_a_question() {
    if without_a_sandbox() {
        return;
    }
    let scripts = [
        "echo new > src/new.txt && cat src/new.txt",
        "echo x > $TMPDIR/x && cat $TMPDIR/x && echo $TMPDIR",
        "cat /etc/passwd > /dev/null && echo read",
        "python3 -c 'print(6 * 7)'",
        "sh -c 'sleep 60 & echo started'",
        "rm src/new.txt && ls src",
    ];
    let project = Project::new(SANDBOXED, &commands(&scripts.map(str::to_owned)));
    write(&project.home.project().join("src/a.txt"), "a");
    let (outcomes, code) = project.run();
    assert_eq!(code, 0, "{outcomes:?}");
    assert!(outcomes.iter().all(|outcome| !outcome.failed), "{outcomes:?}");
    let texts: Vec<&str> = outcomes.iter().map(|outcome| outcome.output.trim()).collect();
    assert_eq!((texts[0], texts[3], texts[4], texts[5]), ("new", "42", "started", "a.txt"));
    let temporary = texts[1].lines().last().unwrap();
    assert!(!Path::new(temporary).exists(), "{temporary} is left");
    let confined = |event: &Value| event["event_type"] == "tool_call_start" && event["payload"]["confined"] == true;
    assert_eq!(project.events().iter().filter(|event| confined(event)).count(), scripts.len());
    project.home.wait_until_quiet();
}

/// Those of other programs, and the one that levain itself runs in.
#[test]
fn terminals_of_the_person_are_out_of_reach_and_its_own_work() {
    if without_a_sandbox() {
        return;
    }
    let terminal = native_pty_system().openpty(PtySize::default()).unwrap();
    let name = terminal.master.tty_name().unwrap();
    terminal.master.take_writer().unwrap().write_all(b"typed\n").unwrap();
    let scripts = [
        format!("printf painted > {} && echo out", name.display()),
        format!("timeout 1 head -c 5 {} && echo out", name.display()),
        "printf painted > /dev/tty && echo out".to_owned(),
        "ls /dev/pts/[0-9]* && echo out".to_owned(),
        "head -c 1 /dev/console /dev/tty0 /dev/kmsg; test -r /dev/null && echo x > /dev/null && echo harmless"
            .to_owned(),
        "python3 -c 'import pty; pty.spawn([\"tty\"]); pty.spawn([\"sh\", \"-c\", \"echo spawned > /dev/tty\"])'"
            .to_owned(),
        "ls / > /dev/null && echo listed".to_owned(),
    ];
    for starter in STARTERS {
        let project = Project::new(SANDBOXED, &commands(&scripts));
        fs::set_permissions(&name, PermissionsExt::from_mode(0o666)).unwrap();
        let Some(outcomes) = project.run_by(starter) else { continue };
        assert_eq!(outcomes.len(), scripts.len());
        for outcome in &outcomes {
            let is_out = outcome.output.contains("typed") || outcome.output.lines().any(|line| line == "out");
            assert!(!is_out, "{starter:?}: {outcome:?}");
        }
        assert!(outcomes[4].output.lines().any(|line| line == "harmless"), "{starter:?}: {outcomes:?}");
        // Where nothing can be mounted it makes none, and lists no folder with something hidden below.
        let (own, listed) = (&outcomes[5].output, outcomes[6].output.trim() == "listed");
        let makes_its_own = own.contains("/dev/pts/0") && own.contains("spawned");
        let mounts = starter != Starter::WithoutMounts;
        assert_eq!((makes_its_own, listed), (mounts, mounts), "{starter:?}: {outcomes:?}");
    }
    let project = Project::new(SANDBOXED, &commands(&scripts));
    let screen = project.home.levain_in_terminal(&project.arguments()).start();
    screen.wait_exit();
    let outcomes = project.outcomes();
    assert!(outcomes.len() == scripts.len() && !outcomes[2].output.lines().any(|line| line == "out"), "{outcomes:?}");
    let mut painted = Vec::new();
    drop(terminal.slave);
    let _end_of_a_terminal = terminal.master.try_clone_reader().unwrap().read_to_end(&mut painted);
    assert!(!String::from_utf8_lossy(&painted).contains("painted"), "{painted:?}");
}

#[test]
fn what_is_made_to_guard_it_goes_with_the_command() {
    if without_a_sandbox() {
        return;
    }
    let scripts = ["true", "echo ../evil > .git/commondir && echo out", "mkdir .git/refs && echo out", "ls -a"];
    for starter in STARTERS {
        let project = Project::new(SANDBOXED, &commands(&scripts.map(str::to_owned)));
        let folder = project.home.project();
        let Some(outcomes) = project.run_by(starter) else { continue };
        assert!(outcomes.len() == scripts.len() && !outcomes.iter().any(is_out), "{starter:?}: {outcomes:?}");
        assert!(!outcomes[0].failed && outcomes[0].output.trim() == "(no output)", "{starter:?}: {outcomes:?}");
        assert!(folder.join(".git").symlink_metadata().is_err(), "{starter:?}: a repository is left");

        let project = Project::new(SANDBOXED, &commands(&["true".to_owned()]));
        let folder = project.home.project();
        git(&folder, &["init", "-q"]);
        let before = all_below(&folder.join(".git"));
        let outcomes = project.run_by(starter).unwrap();
        assert_eq!(outcomes[0].output.trim(), "(no output)", "{starter:?}");
        assert_eq!(all_below(&folder.join(".git")), before, "{starter:?}");
    }
}

/// A file that is taken away takes mounts over it with it, those of others too.
#[test]
fn a_command_that_ends_leaves_others_of_the_project_guarded() {
    if !Offered::here().holds() {
        return;
    }
    let home = Home::new();
    let confinement = sandbox_of(&home).confinement(&[], &[]);
    fs::create_dir(home.project().join("src")).unwrap();
    let script = "touch src/begun; until [ -e src/go ]; do sleep 0.02; done; mkdir -p .git/refs && echo out";
    let long = kept(&home, &confinement, script);
    poll("it runs", || home.project().join("src/begun").exists());
    assert_eq!(printed(kept(&home, &confinement, "true")), "");
    fs::write(home.project().join("src/go"), "").unwrap();
    let said = printed(long);
    assert!(!said.lines().any(|line| line == "out"), "{said}");
    assert!(!home.project().join(".git").exists());
}

/// git looks for settings and hooks in the folder that `commondir` names, and runs what they say at `git status`.
#[test]
fn nothing_leads_git_to_settings_of_a_command() {
    if without_a_sandbox() {
        return;
    }
    let evil = "cp -r .git src/evil && git config -f src/evil/config core.fsmonitor 'touch \"$PWD/ran\"; true'; \
                git config -f src/evil/config user.name evil";
    let scripts = [
        format!("{evil}; rm -f .git/commondir; echo ../src/evil > .git/commondir && echo out"),
        "ln -sf ../src/evil/config .git/config; ln -s ../src/evil .git/worktrees && echo out".to_owned(),
        "mkdir -p .git/worktrees/x && echo out".to_owned(),
        "mkdir -p .git/remotes; echo 'URL: src/evil' > .git/remotes/origin && echo out".to_owned(),
        "mkdir -p .git/branches; echo src/evil > .git/branches/origin && echo out".to_owned(),
        "mv .git/HEAD .git/HEAD2; git config -f .git/config.worktree a.b c && echo out; mv .git/HEAD2 .git/HEAD"
            .to_owned(),
        "echo x > src/b.txt; git -c user.name=n -c user.email=n@example.org commit -qm second -- src/a.txt && \
         git status --short && git log --format=%s && git worktree list | wc -l"
            .to_owned(),
    ];
    for starter in STARTERS {
        let project = Project::new(SANDBOXED, &commands(&scripts));
        let folder = project.home.project();
        write(&folder.join(".gitignore"), ".ai\n");
        write(&folder.join("src/a.txt"), "first\n");
        git(&folder, &["init", "-q"]);
        git(&folder, &["add", ".gitignore", "src"]);
        git(&folder, &["commit", "-qm", "first"]);
        write(&folder.join("src/a.txt"), "second\n");
        let Some(outcomes) = project.run_by(starter) else { continue };
        assert!(outcomes.len() == scripts.len() && !outcomes.iter().any(is_out), "{starter:?}: {outcomes:?}");
        if starter != Starter::WithoutMounts {
            let said = outcomes[6].output.trim();
            assert_eq!(
                said.lines().collect::<Vec<_>>(),
                ["?? src/b.txt", "?? src/evil/", "second", "first", "1"],
                "{starter:?}"
            );
        }
        // The person goes on.
        if starter == Starter::AsNobody {
            assert!(Command::new("chown").args(["-R", "0:0"]).arg(project.home.path()).status().unwrap().success());
        }
        let names = fs::read_dir(folder.join(".git")).unwrap().map(|entry| entry.unwrap().file_name());
        let strange = ["commondir", "worktrees", "remotes", "config.worktree"];
        assert!(!names.into_iter().any(|name| strange.iter().any(|other| name == *other)), "{starter:?}");
        git(&folder, &["status"]);
        git(&folder, &["commit", "--allow-empty", "-qm", "third"]);
        git(&folder, &["worktree", "add", "-q", "../beside"]);
        assert!(!folder.join("ran").exists(), "{starter:?}: git ran what a command wrote");
        assert_eq!(git(&folder, &["log", "-1", "--format=%an"]).trim(), "n");
    }
}

/// While a command runs a `commondir` is there that names its own folder: git takes that for none.
#[test]
fn git_works_beside_a_confined_command() {
    if !Offered::here().holds() {
        return;
    }
    let home = Home::new();
    let (folder, beside) = (home.project(), home.path().join("beside"));
    git(&folder, &["init", "-q"]);
    git(&folder, &["commit", "--allow-empty", "-qm", "first"]);
    fs::create_dir(folder.join("src")).unwrap();
    let script = "touch src/begun; until [ -e src/go ]; do sleep 0.02; done; mkdir .git/worktrees/own && echo out";
    let long = kept(&home, &sandbox_of(&home).confinement(&[], &[]), script);
    poll("it runs", || folder.join("src/begun").exists());
    git(&folder, &["status"]);
    git(&folder, &["commit", "--allow-empty", "-qm", "second"]);
    git(&folder, &["worktree", "add", "-q", "../beside"]);
    git(&beside, &["commit", "--allow-empty", "-qm", "third"]);
    fs::write(folder.join("src/go"), "").unwrap();
    let said = printed(long);
    assert!(!said.lines().any(|line| line == "out") && !said.contains("clear up"), "{said}");
    assert!(!folder.join(".git/commondir").exists());
    assert_eq!(git(&beside, &["log", "--format=%s"]).lines().count(), 3);
    assert_eq!(git(&folder, &["worktree", "list"]).lines().count(), 2);
}

#[test]
fn what_leads_to_a_repository_is_guarded_and_what_it_leads_to() {
    if !Offered::here().holds() {
        return;
    }
    let home = Home::new();
    let folder = home.project();
    for path in [".bare/HEAD", ".bare/hooks/sample", ".bare/config", "deep/a/own/f"] {
        write(&folder.join(path), "as it was\n");
    }
    let tries = "echo 'gitdir: evil' > .git && echo out; rm -f .git && echo out; mv .bare .bare2 && echo out; \
                 echo x > .bare/hooks/sample && echo out; echo x > .bare/commondir && echo out; \
                 mv deep deep2 && echo out; mv deep/a deep/a2 && echo out; echo x > deep/a/own/f && echo out; true";
    for is_link in [false, true] {
        let _none = fs::remove_file(folder.join(".git"));
        if is_link {
            symlink(".bare", folder.join(".git")).unwrap();
        } else {
            fs::write(folder.join(".git"), "gitdir: .bare\n").unwrap();
        }
        let mut confinement = sandbox_of(&home).confinement(&[], &[]);
        confinement.guarded.push(fs::canonicalize(folder.join("deep/a/own")).unwrap());
        let said = printed(kept(&home, &confinement, tries));
        assert!(said.contains("denied") || said.contains("busy") || said.contains("Read-only"), "{said}");
        assert!(!said.lines().any(|line| line == "out") && !said.contains("clear up"), "{said}");
        assert_eq!(fs::read_dir(folder.join(".bare")).unwrap().count(), 3);
    }
}

#[test]
fn reaching_out_of_the_sandbox_asks_and_names_the_place() {
    if without_a_sandbox() {
        return;
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let script = format!("echo x > {}/made && echo wrote", elsewhere.path().display());
    let call = json!({ "command": script, "write_paths": [elsewhere.path()] });
    let project = Project::new(SANDBOXED, &[call]);
    // Nobody can be asked: it does not run.
    let (outcomes, code) = project.run();
    assert!(outcomes[0].failed && outcomes[0].output.contains("levain.leave-sandbox"), "{outcomes:?}");
    assert_eq!(code, 4);
    assert!(!elsewhere.path().join("made").exists());
    let terminal = project.home.levain_in_terminal(&["--model", &project.model, "x"]).start();
    terminal.wait_for("x ");
    terminal.send_keys("go");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("it reaches out of its sandbox");
    terminal.wait_for(&elsewhere.path().display().to_string());
    terminal.wait_for("allow once");
    terminal.send_keys("y");
    poll("the file is written", || elsewhere.path().join("made").exists());
    terminal.wait_for("Done.");
    terminal.leave();
    project.home.wait_until_quiet();
}

#[test]
fn a_port_that_was_allowed_is_reached_and_no_other() {
    if without_a_sandbox() {
        return;
    }
    let (one, other) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    let script = |port: u16| {
        format!(
            "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 2); print(\"connected\")'"
        )
    };
    let calls = [
        json!({ "command": script(port(&one)), "ports": [port(&one)] }),
        json!({ "command": script(port(&other)), "ports": [port(&one)] }),
    ];
    let granted = format!("{SANDBOXED}<execute><tool>levain/leave-sandbox</tool></execute>");
    let (outcomes, _) = Project::new(&granted, &calls).run();
    assert_eq!((outcomes[0].output.trim(), outcomes[0].failed), ("connected", false), "{outcomes:?}");
    assert!(outcomes[1].failed && !outcomes[1].output.contains("connected\n"), "{outcomes:?}");
}

#[test]
fn with_off_and_with_a_grant_that_names_no_sandbox_nothing_changes() {
    let command = [json!({ "command": "echo x > ../outside && echo wrote" })];
    let project = Project::new("<execute><tool>rye/bash</tool></execute>", &command);
    let (outcomes, _) = project.run();
    assert_eq!(outcomes[0].output.trim(), "wrote");
    let project = Project::new(SANDBOXED, &command);
    let Output { status, .. } = project.command().env("LEVAIN_SANDBOX", "off").stdin(Stdio::null()).output().unwrap();
    assert_eq!(status.code(), Some(4), "a grant in a sandbox asks where none is used");
    assert!(!project.home.path().join("outside").exists());
}

#[test]
fn required_everything_is_confined_or_nothing_runs() {
    let command = [json!({ "command": "echo x > ../outside && echo wrote" })];
    let project = Project::new("<execute><tool>rye/bash</tool></execute>", &command);
    let _code = project.command().env("LEVAIN_SANDBOX", "require").stdin(Stdio::null()).output().unwrap();
    let outcomes = project.outcomes();
    assert!(outcomes[0].failed && !project.home.path().join("outside").exists(), "{outcomes:?}");
    if !Offered::here().holds() {
        assert!(outcomes[0].output.contains("cannot confine"), "{outcomes:?}");
    }
}

#[test]
fn other_tools_are_not_taken_for_confined() {
    let home = Home::new();
    let call =
        json!({ "tool_call": { "name": "rye_file_system_write", "input": { "path": "a.txt", "content": "a" } } });
    let script = json!({ "name": "s", "rate": 0, "replies": [
        { "when": { "after_tool": "rye_file_system_write" }, "steps": [{ "text": "Done." }] }, { "steps": [call] },
    ]});
    write(&home.path().join("s.yaml"), &script.to_string());
    write(
        &home.project().join(".ai/directives/x.md"),
        "```xml\n<directive name=\"x\" version=\"1.0.0\"><metadata><description>d</description><permissions>\
         <execute sandbox=\"true\"><tool>rye/file-system/*</tool></execute></permissions></metadata></directive>\n```\nDo.\n",
    );
    assert!(home.levain(&["trust"]).stdin(Stdio::null()).status().unwrap().success());
    let model = format!("scripted/{}", home.path().join("s.yaml").display());
    let status =
        home.levain(&["run", "--model", &model, "--directive", "x", "go"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(status.status.code(), Some(4));
    assert!(!home.project().join("a.txt").exists());
}

/// Sessions of their own and double forks end with their command, confined or not. With `LEVAIN_LONG_TESTS` a thousand
/// commands.
#[test]
fn nothing_that_a_command_starts_outlives_it() {
    let daemons = "for i in 1 2 3 4 5 6 7 8 9 10; do setsid sleep 4711 & (setsid sh -c 'sleep 4711 & sleep 4711' & ) ; done; \
                   echo started";
    let (rounds, commands) = if std::env::var_os("LEVAIN_LONG_TESTS").is_some() { (10, 100) } else { (1, 20) };
    for _ in 0..rounds {
        let all: Vec<Value> = (0..commands).map(|_| json!({ "command": daemons })).collect();
        let project = Project::new("<execute><tool>rye/bash</tool></execute>", &all);
        let (outcomes, code) = project.run();
        assert_eq!((outcomes.len(), code), (commands, 0), "{outcomes:?}");
        project.home.wait_until_quiet();
    }
}

/// A worker that is killed takes its commands with it, those in sessions of their own too.
#[test]
fn a_killed_worker_leaves_no_command() {
    let script = json!({ "command": "setsid sleep 4712 & (setsid sleep 4712 &) ; touch begun; sleep 4712" });
    let project = Project::new("<execute><tool>rye/bash</tool></execute>", &[script]);
    let mut run = project.command().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    poll("the command runs", || project.home.project().join("begun").exists());
    run.kill().unwrap();
    run.wait().unwrap();
    project.home.wait_until_quiet();
}
