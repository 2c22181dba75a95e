"""Lists the functions that levain runs through: functions.py LEVAIN FILE. See scripts/functions."""

import gzip
import http.server
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

from terminal import Terminal, check, end_all, environment, started_here

# valgrind is slow.
PATIENCE = 180
ANSWER = """\
# Two things

Two things, and **one** of them *matters*, says [the manual](https://example.org/manual), "as it `stands`":

- `a`, with words enough that the line has to be broken somewhere, which is what happens to most of the lines
  - within it, naïve
- b

1. first
2. second

> They said so,
> and meant it.

| a | b |
| - | -: |
| 1 | 2 |
| naïve | 22 |

```rust
/// Adds.
fn main() {
    let sum: u32 = [1, 2].iter().sum();
    println!("{sum}");
}
```

```python
def main(words):
    return {word: len(word) for word in words if word}  # all of them
```

```sh
ls -l | sort
```

---

"""
TURNS = 3


class Model(http.server.BaseHTTPRequestHandler):
    """Streams answers, in OpenAI's form and in Anthropic's."""

    protocol_version = "HTTP/1.1"
    asked = 0

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        Model.asked += 1
        # A question that asks for much gets its answer as fast as it can be read, and in larger pieces.
        self.much = b"tell me much" in body
        text = ANSWER * (160 if self.much else 1) + f"That is all, for the {Model.asked}. time."
        size = 200 if self.much else 4
        pieces = [text[start : start + size] for start in range(0, len(text), size)]
        if self.path.endswith("/messages"):
            self.anthropic(pieces)
        else:
            self.openai(pieces)

    def openai(self, pieces):
        for piece in pieces:
            self.say({"choices": [{"index": 0, "delta": {"content": piece}}]})
        self.say({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self.say({"choices": [], "usage": {"prompt_tokens": 900, "completion_tokens": 40, "total_tokens": 940}})
        self.wfile.write(b"data: [DONE]\n\n")

    def anthropic(self, pieces):
        usage = {"input_tokens": 900, "output_tokens": 1}
        message = {"id": "x", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
        self.tell("message_start", {"message": message})
        self.tell("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}})
        for piece in pieces:
            self.tell("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": piece}})
        self.tell("content_block_stop", {"index": 0})
        self.tell("message_delta", {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 40}})
        self.tell("message_stop", {})

    def say(self, chunk):
        self.wfile.write(f"data: {json.dumps({'id': 'x', 'model': 'm', **chunk})}\n\n".encode())
        self.wfile.flush()

    def tell(self, event, data):
        self.wfile.write(f"event: {event}\ndata: {json.dumps({'type': event, **data})}\n\n".encode())
        self.wfile.flush()
        if not self.much:
            # So that it is drawn while it arrives.
            time.sleep(0.01)

    def log_message(self, *_arguments):
        pass


class Runs:
    """levain under valgrind, again and again in one project."""

    def __init__(self, levain, folder):
        self.levain, self.folder = levain, folder
        self.bare = folder / "empty"
        self.bare.mkdir()
        self.project = folder / "project"
        (self.project / ".ai").mkdir(parents=True)
        (self.project / "a.txt").write_text("one\ntwo\n")
        self.variables = environment(folder)
        # What ran each, as what kind of process; in the order of their first.
        self.runs = {}

    def run(self, name, arguments, play, project=None, size=(160, 45)):
        """Plays one visit; what every process of it ran through comes behind what is listed."""
        out = self.folder / name
        out.mkdir()
        command = ["/usr/bin/env", "valgrind", "--quiet", "--tool=callgrind", "--demangle=no", "--trace-children=yes"]
        # What valgrind has to say must not be drawn over the screen.
        command += [f"--log-file={out}/log.%p", f"--callgrind-out-file={out}/out.%p", self.levain, *arguments]
        terminal = Terminal(command, self.variables, project or self.project, *size)
        try:
            terminal.wait("the screen is there", lambda: "F1" in terminal.text(), PATIENCE)
            rest(terminal)
            play(terminal)
            rest(terminal)
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
        names, objects, within, found = {}, {}, None, {}
        kind = "screen"
        for line in file.read_text(errors="replace").splitlines():
            if line.startswith("cmd: "):
                word = (line.split() + [""])[2]
                kind = "screen" if word.startswith("-") else word
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
                if re.fullmatch(r"[A-Za-z_.$][A-Za-z0-9_.$]*", name):
                    found[name] = None
        for name in found:
            self.runs.setdefault(name, []).append(kind)


def wait_quiet(folder):
    """Until every worker has ended and written what it ran through."""
    deadline = time.monotonic() + PATIENCE
    while started_here(folder):
        check(time.monotonic() < deadline, "a process goes on and on")
        time.sleep(0.2)


def rest(terminal):
    """Until the screen has nothing to do, which is when the last of what a start does in the background has run."""
    deadline = time.monotonic() + PATIENCE
    spent, since = None, time.monotonic()
    while time.monotonic() < since + 1.5:
        check(time.monotonic() < deadline, "it is busy and busy")
        terminal.read(0.05)
        now = pathlib.Path(f"/proc/{terminal.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
        if now != spent:
            spent, since = now, time.monotonic()


def say(terminal, text, until):
    for end in range(len(text)):
        terminal.type(text[end])
        if end % 4 == 0:
            terminal.wait("the draft is there", lambda: text[: end + 1].rstrip() in terminal.text(), PATIENCE)
    terminal.type("xy")
    terminal.wait("the draft is there", lambda: text + "xy" in terminal.text(), PATIENCE)
    terminal.type("\x7f\x7f")
    terminal.wait("the draft is there", lambda: text + "xy" not in terminal.text(), PATIENCE)
    terminal.type("\r")
    terminal.wait(until, lambda: until in terminal.text(), PATIENCE)


def chat(terminal):
    for turn in range(TURNS):
        say(terminal, f"what is there, {turn}?", f"That is all, for the {Model.asked + 1}. time.")
        terminal.wait("rest", lambda: "enter send" in terminal.text(), PATIENCE)
    for key in ["\x1b[5~"] * 4 + ["\x1b[6~"] * 4:
        terminal.type(key)
        rest(terminal)


def long(terminal):
    for turn in range(TURNS):
        say(terminal, f"tell me much, {turn}", f"That is all, for the {Model.asked + 1}. time.")
        terminal.wait("rest", lambda: "enter send" in terminal.text(), PATIENCE)
        rest(terminal)
    for key in ["\x1b[5~"] * 4 + ["\x1b[6~"] * 4 + ["more", "\x7f" * 4]:
        terminal.type(key)
        rest(terminal)


def saved(project):
    """A directive is written while the screen is open."""

    def play(terminal):
        (project / ".ai" / "directives").mkdir(exist_ok=True)
        (project / ".ai" / "directives" / "new.md").write_text("<directive name=\"new\"></directive>\n")
        rest(terminal)

    return play


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
        runs.variables["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{server.server_port}"
        runs.variables["ANTHROPIC_API_KEY"] = "none"
        try:
            runs.run("start", ["--model", "openai/m"], lambda terminal: None)
            runs.run("bare", ["--model", "anthropic/m"], lambda terminal: None, runs.bare)
            runs.run("chat", ["--model", "anthropic/m"], chat)
            runs.run("other", ["--model", "openai/m"], chat)
            runs.run("long", ["--model", "anthropic/m"], long, size=(100, 30))
            runs.run("narrow", ["--model", "openai/m"], saved(runs.project), size=(100, 30))
            runs.run("again", ["--continue"], lambda terminal: None)
            runs.run("tools", ["--model", "scripted/tools"], tools)
        finally:
            end_all(folder)
    # What several kinds of process run first, then each kind's own; in each what most of them run before what few do. So a
    # process at rest has little of the others' in memory.
    def place(name):
        kinds = set(runs.runs[name])
        return (len(kinds) == 1, kinds.pop() if len(kinds) == 1 else "", -len(runs.runs[name]))

    names = sorted(runs.runs, key=place)
    # Valgrind plays a processor without these instructions, and a kernel without these calls.
    symbols = subprocess.run(["nm", "--defined-only", levain], capture_output=True, text=True, check=True).stdout.split()
    names = [name for name in symbols if re.search("x86_sha|pidfd|landlock", name) and name not in runs.runs] + names
    with gzip.GzipFile(target, "wb", mtime=0) as file:
        file.write("".join(f"{name}\n" for name in names).encode())
    print(f"{len(names)} functions")


main()
