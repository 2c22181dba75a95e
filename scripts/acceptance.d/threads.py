"""How fast threads stop, and what waiting for them costs: threads.py LEVAIN. See scripts/acceptance.

A provider of its own streams without end and sees when a connection is closed. Printed are times in milliseconds, with the
limit that each has to hold; the exit status is 1 where one does not.
"""

import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

CHILDREN = 100
failed = []


class Provider(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        # When the connection of a request closed, and when the answer to it began.
        self.closed = {}
        self.begun = {}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_words):
        pass

    def event(self, value):
        self.wfile.write(f"event: {value['type']}\ndata: {json.dumps(value)}\n\n".encode())
        self.wfile.flush()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = json.dumps(body["messages"])
        name = next((word for word in ("stream", "sleeps", "stays") if f"task {word}" in text), "stream")
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        usage = {"input_tokens": 10, "output_tokens": 1}
        message = {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": [], "usage": usage}
        self.event({"type": "message_start", "message": message})
        if name == "stream":
            self.event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
            self.server.begun[name] = time.monotonic()
            try:
                while True:
                    delta = {"type": "text_delta", "text": "word "}
                    self.event({"type": "content_block_delta", "index": 0, "delta": delta})
                    time.sleep(0.005)
            except OSError:
                self.server.closed[name] = time.monotonic()
            return
        command = {"sleeps": "sleep 4711", "stays": "trap '' TERM INT HUP; while :; do sleep 4712; done"}[name]
        call = {"type": "tool_use", "id": "toolu_1", "name": "rye_bash", "input": {}}
        self.event({"type": "content_block_start", "index": 0, "content_block": call})
        part = {"type": "input_json_delta", "partial_json": json.dumps({"command": command})}
        self.event({"type": "content_block_delta", "index": 0, "delta": part})
        self.event({"type": "content_block_stop", "index": 0})
        self.event({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}})
        self.event({"type": "message_stop"})


class Project:
    def __init__(self, levain, provider):
        self.levain = levain
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="levain-threads-"))
        for name in ("home", "project/.ai/directives", "config/levain", "state", "run"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "run").chmod(0o700)
        grant = "<permissions><execute><tool>rye/bash</tool></execute><acknowledge risk=\"elevated\">it is measured</acknowledge></permissions>"
        (self.folder / "project/.ai/directives/work.md").write_text(
            f'```xml\n<directive name="work"><metadata>{grant}</metadata></directive>\n```\nDo the task.\n'
        )
        hang = "name: hang\nrate: 0\nreplies:\n  - steps:\n      - text: I begin\n      - hang\n"
        (self.folder / "hang.yaml").write_text(hang)
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.folder / "home"), "LANG": "C.UTF-8",
            "XDG_CONFIG_HOME": str(self.folder / "config"), "XDG_STATE_HOME": str(self.folder / "state"),
            "XDG_RUNTIME_DIR": str(self.folder / "run"), "LEVAIN_LOCAL_SERVERS": "false",
            "ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{provider.server_address[1]}",
        }
        self.run("trust")

    def start(self, *words):
        return subprocess.Popen(
            [self.levain, *words], cwd=self.folder / "project", env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )

    def run(self, *words):
        process = self.start(*words)
        out, error = process.communicate(timeout=60)
        if process.returncode != 0:
            raise SystemExit(f"levain {' '.join(words)}: {error}")
        return out

    def background(self, *words):
        return self.run("run", "--background", *words).strip()

    def status(self, thread):
        return json.loads(self.start("threads", "result", "--json", thread).communicate(timeout=20)[0])["status"]

    def close(self):
        rows = self.start("threads", "--json", "--most", "1000").communicate(timeout=60)[0]
        ids = [json.loads(line)["thread_id"] for line in rows.splitlines()]
        self.start("threads", "kill", *ids).communicate(timeout=120)
        shutil.rmtree(self.folder, ignore_errors=True)


def until(what, condition, patience=20.0):
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"waited in vain until {what}")
        time.sleep(0.002)
    return time.monotonic()


def told(what, value, unit, limit):
    holds = value <= limit
    if not holds:
        failed.append(what)
    print(f"{what:<58} {value:9.2f} {unit:<4} limit {limit:g}{'' if holds else '  DOES NOT HOLD'}")


def processes(mark):
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "cmdline").read_bytes().decode(errors="replace"):
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def stop_times(project, provider):
    model = ("--model", "anthropic/test")
    for what, words in (("cancel", ("threads", "cancel")), ("kill", ("threads", "kill"))):
        provider.begun.clear(), provider.closed.clear()
        thread = project.background(*model, "task stream")
        until("it streams", lambda: "stream" in provider.begun)
        time.sleep(0.2)
        began = time.monotonic()
        stopping = project.start(*words, thread)
        until("the connection is closed", lambda: "stream" in provider.closed)
        ended = until("it is listed so", lambda: project.status(thread) in ("cancelled", "killed"))
        stopping.communicate()
        closed = provider.closed["stream"]
        # The process of the command has to begin first.
        told(f"{what} of a streaming thread: connection closed", (closed - began) * 1000, "ms", 100)
        told(f"{what} of a streaming thread: its status, after that", (ended - closed) * 1000, "ms", 100)
    for what, task, mark, limit in (
        ("cancel: process group of a tool gone", "sleeps", "4711", 500),
        ("cancel: one that ignores signals gone", "stays", "4712", 3500),
        ("kill: one that ignores signals gone", "stays", "4712", 3500),
    ):
        thread = project.background(*model, "--directive", "work", f"task {task}")
        until("the tool runs", lambda: processes(mark))
        began = time.monotonic()
        stopping = project.start("threads", what.split(":")[0], thread)
        gone = until("it is gone", lambda: not processes(mark))
        stopping.communicate()
        told(what, (gone - began) * 1000, "ms", limit)


def waiting(project):
    model = ("--model", f"scripted/{project.folder}/hang.yaml")
    threads = [project.background(*model, "task") for _ in range(CHILDREN)]
    waiter = project.start("threads", "wait", "--timeout", "60", *threads)
    time.sleep(3)
    def spent():
        fields = pathlib.Path(f"/proc/{waiter.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    before, began = spent(), time.monotonic()
    time.sleep(10)
    share = (spent() - before) / (time.monotonic() - began) * 100
    told(f"levain threads wait on {CHILDREN} threads", share, "%", 1)
    sizes = []
    rows = project.run("threads", "running", "--json")
    for process in processes("worker\0"):
        try:
            text = pathlib.Path(f"/proc/{process}/smaps_rollup").read_text()
            sizes.append(int(next(line for line in text.splitlines() if line.startswith("Pss:")).split()[1]) / 1024)
        except (OSError, StopIteration):
            pass
    if sizes and rows:
        told(f"background worker among {len(sizes)}, PSS", sum(sizes) / len(sizes), "MB", 10)
    began = time.monotonic()
    project.start("threads", "cancel", *threads).communicate(timeout=60)
    waiter.communicate(timeout=60)
    print(f"{'all cancelled, and the wait is over after':<58} {(time.monotonic() - began) * 1000:9.2f} ms")


def main():
    provider = Provider()
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    project = Project(sys.argv[1], provider)
    try:
        stop_times(project, provider)
        waiting(project)
    finally:
        project.close()
    sys.exit(1 if failed else 0)


main()
