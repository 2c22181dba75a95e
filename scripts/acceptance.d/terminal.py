"""levain in a pseudo-terminal, for the scripts that look at it."""

import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

import pyte

# What pyte would show as text: kitty keyboard settings and mode questions.
NOT_FOR_PYTE = re.compile(rb"\x1b\[(?:[<>=][0-9;:]*u|\?[0-9;]*\$p|\?u)")
UNFINISHED = re.compile(rb"\x1b(?:\[[0-9;:?<>=$ ]*|\][^\x07\x1b]*)?$")
# What a terminal answers when it is asked.
ANSWERS = [
    (b"\x1b]10;?", b"\x1b]10;rgb:d0d0/d0d0/d0d0\x1b\\"),
    (b"\x1b]11;?", b"\x1b]11;rgb:1010/1010/1010\x1b\\"),
    (b"\x1b[?u", b"\x1b[?0u"),
    (b"\x1b[?2026$p", b"\x1b[?2026;2$y"),
    (b"\x1b[c", b"\x1b[?62;22c"),
    (b"\x1b[0c", b"\x1b[?62;22c"),
]


class Failed(Exception):
    pass


class Terminal:
    """A program in a pseudo-terminal, and the screens it showed."""

    def __init__(self, command, environment, folder, columns=110, rows=32):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.rest = b""
        self.started = time.monotonic()
        self.shown = []  # (seconds since the start, text), one for each change
        self.code = None
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            try:
                os.chdir(folder)
                os.execve(command[0], command, environment)
            finally:
                os._exit(127)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def seconds(self):
        return time.monotonic() - self.started

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def read(self, patience):
        """Takes what the program has written. False once it holds the terminal no longer."""
        if not select.select([self.master], [], [], patience)[0]:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:
            data = b""
        if not data:
            return False
        data = self.rest + data
        unfinished = UNFINISHED.search(data)
        self.rest = data[unfinished.start():] if unfinished else b""
        data = data[: len(data) - len(self.rest)]
        for question, answer in ANSWERS:
            if question in data:
                os.write(self.master, answer)
        self.stream.feed(NOT_FOR_PYTE.sub(b"", data))
        text = self.text()
        if not self.shown or self.shown[-1][1] != text:
            self.shown.append((self.seconds(), text))
        return True

    def wait(self, what, condition, patience):
        deadline = time.monotonic() + patience
        while True:
            value = condition()
            if value:
                return value
            if not self.read(0.05):
                raise Failed(f"levain ended ({self.wait_exit(5)}) before {what}\n{self.text()}")
            if time.monotonic() > deadline:
                raise Failed(f"waited {patience} s in vain until {what}; the screen:\n{self.text()}")

    def type(self, keys):
        os.write(self.master, keys.encode())

    def wait_exit(self, patience):
        deadline = time.monotonic() + patience
        open_ = True
        while self.code is None:
            if open_:
                open_ = self.read(0.05)
            else:
                time.sleep(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > deadline:
                raise Failed(f"levain did not leave within {patience} s; the screen:\n{self.text()}")
        return self.code

    def close(self):
        if self.code is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
        os.close(self.master)


def environment(folder):
    """An empty home below `folder`, with nothing that could be asked."""
    home, run = folder / "home", folder / "run"
    home.mkdir(parents=True, exist_ok=True)
    run.mkdir(mode=0o700, exist_ok=True)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_RUNTIME_DIR": str(run),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
        "LEVAIN_LOCAL_SERVERS": "false",
        "LEVAIN_TEST_HOME": str(folder),
    }


def started_here(mark):
    """Processes whose environment names our folder: levain's workers."""
    wanted = f"LEVAIN_TEST_HOME={mark}".encode()
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                pass
    return found


def check(holds, what):
    if not holds:
        raise Failed(what)


def end_all(mark):
    """Ends what was started below `mark` and is still there."""
    for pid in started_here(mark):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
