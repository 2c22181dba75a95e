"""Lists the functions that levain runs through: order.py LEVAIN FILE. See scripts/order."""

import http.server
import json
import pathlib
import re
import sys
import tempfile
import threading
import time

from terminal import Terminal, check, end_all, environment, started_here

# valgrind is slow.
PATIENCE = 180
ANSWER = """\
Two things, and **one** of them matters:

- `a`
- b

| a | b |
| - | - |
| 1 | 2 |

```rust
fn main() {}
```

That is all.
"""

HEAD = """\
# Functions in the order in which they are to lie in the program: those of every start first. Made by scripts/order.
"""


class Model(http.server.BaseHTTPRequestHandler):
    """Streams one answer, in OpenAI's form."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for start in range(0, len(ANSWER), 4):
            self.say({"choices": [{"index": 0, "delta": {"content": ANSWER[start : start + 4]}}]})
        self.say({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self.say({"choices": [], "usage": {"prompt_tokens": 900, "completion_tokens": 40, "total_tokens": 940}})
        self.wfile.write(b"data: [DONE]\n\n")

    def say(self, chunk):
        self.wfile.write(f"data: {json.dumps({'id': 'x', 'model': 'm', **chunk})}\n\n".encode())
        self.wfile.flush()

    def log_message(self, *_arguments):
        pass


class Runs:
    """levain under valgrind, again and again in one project."""

    def __init__(self, levain, folder):
        self.levain, self.folder = levain, folder
        self.project = folder / "project"
        (self.project / ".ai").mkdir(parents=True)
        (self.project / "a.txt").write_text("one\ntwo\n")
        self.variables = environment(folder)
        self.names = []
        self.known = set()

    def run(self, name, arguments, play):
        """Plays one visit; what every process of it ran through comes behind what is listed."""
        out = self.folder / name
        out.mkdir()
        command = ["/usr/bin/env", "valgrind", "--quiet", "--tool=callgrind", "--demangle=no", "--trace-children=yes"]
        # What valgrind has to say must not be drawn over the screen.
        command += [f"--log-file={out}/log.%p", f"--callgrind-out-file={out}/out.%p", self.levain, *arguments]
        terminal = Terminal(command, self.variables, self.project, 160, 45)
        try:
            terminal.wait("the screen is there", lambda: "F1" in terminal.text(), PATIENCE)
            play(terminal)
            terminal.type("\x03")
            terminal.wait("asked again", lambda: "again" in terminal.text(), PATIENCE)
            terminal.type("\x03")
            check(terminal.wait_exit(PATIENCE) == 0, "it did not leave in order")
        finally:
            terminal.close()
        wait_quiet(self.folder)
        for file in sorted(out.glob("out.*"), key=lambda file: int(file.suffix[1:])):
            self.take(file)

    def take(self, file):
        binary = pathlib.Path(self.levain).name
        names, objects, within = {}, {}, None
        for line in file.read_text(errors="replace").splitlines():
            part = re.match(r"(c?)(ob|fn)=\((\d+)\)(?: (.*))?$", line)
            if not part:
                continue
            called, sort, number, text = part.groups()
            table = objects if sort == "ob" else names
            if text:
                table[number] = text
            if called:
                continue
            if sort == "ob":
                within = table.get(number, "")
            elif within and within.endswith(binary):
                # valgrind numbers those that call themselves.
                name = re.sub(r"'\d+$", "", table.get(number, ""))
                if re.fullmatch(r"[A-Za-z0-9_.$]+", name) and name not in self.known:
                    self.known.add(name)
                    self.names.append(name)


def wait_quiet(folder):
    """Until every worker has ended and written what it ran through."""
    deadline = time.monotonic() + PATIENCE
    while started_here(folder):
        check(time.monotonic() < deadline, "a process goes on and on")
        time.sleep(0.2)


def say(terminal, text, until):
    terminal.type(text)
    terminal.wait("the draft is there", lambda: text in terminal.text(), PATIENCE)
    terminal.type("\r")
    terminal.wait(until, lambda: until in terminal.text(), PATIENCE)


def chat(terminal):
    say(terminal, "what is there?", "That is all.")
    terminal.wait("rest", lambda: "enter send" in terminal.text(), PATIENCE)
    terminal.type("\x1b[5~\x1b[6~")


def tools(terminal):
    say(terminal, "list", "grants it")
    terminal.wait("rest", lambda: "enter send" in terminal.text(), PATIENCE)
    terminal.type("\x1bOS")
    terminal.wait("the context", lambda: "levain/Constitution" in terminal.text(), PATIENCE)
    terminal.type("\x1b")
    terminal.wait("closed", lambda: "enter send" in terminal.text(), PATIENCE)


def main():
    levain, target = sys.argv[1], pathlib.Path(sys.argv[2])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        runs = Runs(levain, folder)
        runs.variables["OPENAI_BASE_URL"] = f"http://127.0.0.1:{server.server_port}/v1"
        runs.variables["OPENAI_API_KEY"] = "none"
        try:
            runs.run("start", ["--model", "openai/m"], lambda terminal: None)
            runs.run("chat", ["--model", "openai/m"], chat)
            runs.run("again", ["--continue"], lambda terminal: None)
            runs.run("tools", ["--model", "scripted/tools"], tools)
        finally:
            end_all(folder)
    target.write_text(HEAD + "\n".join(runs.names) + "\n")
    print(f"{len(runs.names)} functions")


main()
