//! Pages of the web that would keep a processor busy for minutes.

use crate::support::model_server::{KEY, ModelServer};
use crate::support::terminal::{Home, key, poll};
use serde_json::json;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Stdio;

/// A server that answers everything with half a megabyte of nesting; its address.
fn nesting() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let page = "<div>".repeat(100_000);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n";
            let mut request = [0; 4096];
            let _asked = stream.read(&mut request);
            let _gone = write!(stream, "{head}content-length: {}\r\n\r\n{page}", page.len());
        }
    });
    address
}

/// How many processes make text of pages.
fn readers(home: &Home) -> usize {
    let is_reader = |line: &[u8]| line.split(|byte| *byte == 0).nth(1) == Some(b"page");
    let line = |pid: &rustix::process::Pid| fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero()));
    home.processes().iter().filter(|pid| line(pid).is_ok_and(|line| is_reader(&line))).count()
}

#[test]
fn s18_a_page_that_takes_too_long_is_given_up() {
    let (home, server) = (Home::new(), ModelServer::start());
    let mut command =
        home.levain(&["run", "--model", "anthropic/test-model", "--allow", "rye/web/fetch/fetch", "look"]);
    command.env("ANTHROPIC_BASE_URL", server.base()).env("ANTHROPIC_API_KEY", KEY).env("LEVAIN_FETCH_PRIVATE", "1");
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    server.call().tool("rye_web_fetch_fetch", &json!({"url": nesting()}));
    let call = server.call();
    let said = String::from_utf8_lossy(&call.bytes).into_owned();
    assert!(said.contains("could not be made text"), "{said}");
    assert_eq!(readers(&home), 0);
    call.answer("Too deep.");
    assert!(child.wait_with_output().unwrap().status.success());
    home.wait_until_quiet();
}

#[test]
fn s18_work_on_a_page_ends_when_it_is_stopped() {
    let (home, server) = (Home::new(), ModelServer::start());
    let launch = home.levain_in_terminal(&["--model", "anthropic/test-model"]).env("LEVAIN_FETCH_PRIVATE", "1");
    let terminal = launch.env("ANTHROPIC_BASE_URL", &server.base()).env("ANTHROPIC_API_KEY", KEY).start();
    terminal.wait_for("test-model · ");
    terminal.send_keys("look\r");
    server.call().tool("rye_web_fetch_fetch", &json!({"url": nesting()}));
    terminal.wait_for("allow once");
    terminal.send_keys("y");
    poll("the page is worked on", || readers(&home) == 1);
    terminal.send_keys(key::ESC);
    poll("the work has ended", || readers(&home) == 0);
    terminal.wait_for("stopped");
    terminal.send_keys(key::CTRL_C);
    terminal.wait_for("again");
    terminal.send_keys(key::CTRL_C);
    terminal.wait_exit().assert_code(0).assert_restored();
    home.wait_until_quiet();
}
