//! What would be noticed if a project reached beyond itself: processes that die of a signal, programs and connections that
//! leave a mark when they are started or made, and files outside that must stay as they are.

use crate::support::terminal::Home;
use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Mutex;

pub(crate) struct Canaries {
    /// A folder that no project should reach.
    pub(crate) outside: PathBuf,
    /// Where whoever was started leaves a mark.
    pub(crate) marks: PathBuf,
    home: PathBuf,
    config: PathBuf,
    /// Leads a group of its own.
    pub(crate) process: Mutex<Child>,
    listener: TcpListener,
}

/// Where programs are looked for: git would leave a mark.
pub(crate) fn path(home: &Home) -> String {
    format!("{}:{}", home.path().join("bin").display(), std::env::var("PATH").unwrap())
}

impl Canaries {
    pub(crate) fn new(home: &Home) -> Self {
        let (outside, marks) = (home.path().join("outside"), home.path().join("marks"));
        for folder in [&outside, &marks, &outside.join("folder"), &home.path().join("bin")] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(outside.join("shell-start-up"), "export CANARY=1\nno line end").unwrap();
        fs::write(outside.join("folder/inside"), "untouched").unwrap();
        fs::create_dir_all(home.config()).unwrap();
        let process = Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let (git, home, config) = (home.path().join("bin/git"), home.home(), home.config());
        let canaries = Self { outside, marks, home, config, process: Mutex::new(process), listener };
        canaries.program(&git);
        canaries
    }

    /// A program that leaves a mark.
    pub(crate) fn program(&self, path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("#!/bin/sh\ntouch {}/$$\n", self.marks.display())).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A command for a shell that leaves a mark.
    pub(crate) fn command(&self) -> String {
        format!("touch {}/started", self.marks.display())
    }

    pub(crate) fn port(&self) -> u16 {
        self.listener.local_addr().unwrap().port()
    }

    /// Number and start time of the process that must live.
    pub(crate) fn process(&self) -> (u32, u64) {
        let id = self.process.lock().unwrap().id();
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
        (id, stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse().unwrap())
    }

    #[track_caller]
    pub(crate) fn check(&self, about: &str) {
        let marks: Vec<_> = fs::read_dir(&self.marks).unwrap().flatten().map(|entry| entry.path()).collect();
        assert!(marks.is_empty(), "a process was started: {about}");
        assert!(self.process.lock().unwrap().try_wait().unwrap().is_none(), "a signal was sent: {about}");
        assert!(self.listener.accept().is_err(), "a connection was made: {about}");
    }

    /// Everything outside of the project and the state folder, with its content.
    pub(crate) fn outside(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.outside.clone(), self.home.clone(), self.config.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                let kind = entry.file_type().unwrap();
                if kind.is_dir() {
                    folders.push(path.clone());
                }
                let content = if kind.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
                found.insert(path, content);
            }
        }
        found
    }
}

impl Drop for Canaries {
    fn drop(&mut self) {
        let process = self.process.get_mut().unwrap();
        let _gone = process.kill();
        let _gone = process.wait();
    }
}
