"""A day in the life, in tmux: day.py LEVAIN SNAPSHOTS SIZE [--update]. See scripts/acceptance.

Every step sends keys, waits until the screen shows what they lead to, and is captured. Of each capture it is checked that
no line is wider than the terminal, that frames are closed, that the screen is the same once everything is drawn again,
and that the cursor is where text is written; then it is compared with the one that is kept.
"""

import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import day_project
from terminal import Failed, check, end_all
from wcwidth import iter_graphemes, wcswidth

PATIENCE = 20
# What the draft would come to.
ESTIMATE = re.compile(r" ~\+\S+ tok · request ~\S+ · \d+% of \S+ (?=──)")
# What turns while something works.
SPINNER = re.compile("[⠁-⣿◐◓◑◒]")


class Tmux:
    """levain in a tmux of its own, which nothing else uses."""

    def __init__(self, folder, columns, rows, environment):
        self.columns, self.rows, self.folder = columns, rows, folder
        self.environment = environment | {"TMUX_TMPDIR": str(folder / "run")}
        self.started = False

    def call(self, *words, patience=10):
        done = subprocess.run(
            ["tmux", "-u", "-L", "levain-day", "-f", str(self.folder / "tmux.conf"), *words],
            env=self.environment, capture_output=True, text=True, timeout=patience, errors="replace",
        )
        if done.returncode != 0:
            raise Failed(f"tmux {words[0]}: {done.stderr.strip()}")
        return done.stdout

    def open(self, project):
        (self.folder / "tmux.conf").write_text(
            "set -g default-terminal tmux-256color\nset -g status off\nset -sg escape-time 0\n"
            "set -g set-clipboard on\nset -g exit-empty off\nset -g default-command /bin/sh\n"
        )
        self.call("new-session", "-d", "-x", str(self.columns), "-y", str(self.rows), "-c", str(project), "env PS1='> ' sh")
        self.started = True
        # What is typed before the shell asks for it would stand in front of its prompt.
        self.wait("the shell asks for a command", lambda lines: lines[0].startswith(">"))

    def keys(self, *keys):
        for key in keys:
            if len(key) > 1 and key.startswith("<") and key.endswith(">"):
                self.call("send-keys", key[1:-1])
            else:
                self.call("send-keys", "-l", "--", key)

    def screen(self):
        lines = self.call("capture-pane", "-p").split("\n")[: self.rows]
        return [line.rstrip() for line in lines]

    def cursor(self):
        column, row, shown = self.call("display-message", "-p", "#{cursor_x} #{cursor_y} #{cursor_flag}").split()
        return (int(column), int(row)) if shown == "1" else None

    def wait(self, what, condition):
        deadline = time.monotonic() + PATIENCE
        while not condition(self.screen()):
            if time.monotonic() > deadline:
                raise Failed(f"waited {PATIENCE} s in vain until {what}; the screen:\n" + "\n".join(self.screen()))
            time.sleep(0.02)

    def wait_for(self, text, without=None):
        self.wait(f"it shows {text!r}", lambda lines: holds(lines, text) and not (without and holds(lines, without)))

    def settled(self):
        """The screen once two looks at it are the same, but for what counts seconds. Between them the list of threads, which
        is read from the registry, gets what workers have written there, and a pause in writing its estimate."""
        before, since = None, time.monotonic()
        while time.monotonic() - since < PATIENCE:
            lines = self.screen()
            if before is not None and steady(lines) == steady(before):
                return lines
            before = lines
            time.sleep(0.4)
        raise Failed("the screen does not come to rest:\n" + "\n".join(self.screen()))

    def close(self):
        if self.started:
            try:
                self.call("kill-server")
            except Failed:
                pass


def holds(lines, text):
    """Whether the screen shows `text`, be it broken over lines, or what a pattern wants."""
    if isinstance(text, re.Pattern):
        return bool(text.search("\n".join(lines)))
    return text in "\n".join(lines) or text.replace(" ", "") in re.sub(r"[\s│]", "", "".join(lines))


def steady(lines):
    return [SPINNER.sub("*", re.sub(r"\d+(\.\d+)?", "0", line)) for line in lines]


def columns(line):
    """The letters of a line with the column each begins at."""
    column = 0
    for letter in iter_graphemes(line):
        yield column, letter
        column += width(letter)


def width(text):
    return max(wcswidth(text), 0)


def check_width(lines, limit):
    for row, line in enumerate(lines):
        check(width(line) <= limit, f"line {row + 1} has {width(line)} columns of {limit}: {line}")


def check_frames(lines):
    """Every corner has its three others, and the sides between them have no gap."""
    grid = [{column: letter for column, letter in columns(line)} for line in lines]
    for top, line in enumerate(grid):
        for left in [column for column, letter in line.items() if letter == "┌"]:
            rights = [column for column, letter in line.items() if letter == "┐" and column > left]
            check(rights, f"line {top + 1}: no right corner\n{lines[top]}")
            right = min(rights)
            for row in range(top + 1, len(grid)):
                if grid[row].get(left) == "└":
                    check(grid[row].get(right) == "┘", f"line {row + 1}: no right corner below\n{lines[row]}")
                    break
                check(
                    grid[row].get(left) in ("│", "├") and grid[row].get(right) in ("│", "┤"),
                    f"line {row + 1}: the frame is open\n{lines[row]}",
                )
            else:
                raise Failed(f"the frame of line {top + 1} is not closed below")


# How long something took, and the blanks behind it, of which there are as many as it leaves.
DURATION = re.compile(r"(?<![\w.])(\d+(\.\d+)? ?(ms|s|min|m|h)( ago)?|(?<=· )now)\b(?P<gap> {2,})?")


def normal(lines):
    """The screen without what differs from day to day."""
    shown = []
    for line in lines:
        line = SPINNER.sub("⠋", line)
        line = re.sub(r"(-)\d{13}\b", r"\g<1>1700000000000", line)
        line = re.sub(r"\b\d{4}-\d\d-\d\d\b", "2026-01-02", line)
        line = re.sub(r"\b\d\d:\d\d(:\d\d)?\b", lambda found: "03:04:05"[: len(found[0])], line)
        line = re.sub(r"\b[0-9a-f]{12,64}\b", lambda found: "f" * len(found[0]), line)
        # The estimate above the draft comes some time after the letters.
        line = ESTIMATE.sub(lambda found: "─" * len(found[0]), line)
        line = DURATION.sub(lambda found: "0s" + ("  " if found["gap"] else ""), line)
        shown.append(line)
    return "\n".join(shown).rstrip("\n")


class Day:
    def __init__(self, tmux, snapshots, update):
        self.tmux, self.snapshots, self.update = tmux, snapshots, update
        self.number, self.faults, self.kept = 0, [], set()

    def fault(self, name, what):
        self.faults.append(name)
        print(f"  {name}: {what}", file=sys.stderr)

    def step(self, name, *keys, until=None, without=None, writing=None, notice=None, quick=False):
        """Sends `keys`, waits for `until` and looks at the screen. `writing` says whether text is written there,
        `notice` what is told for some seconds; the next step begins when that is gone. A `quick` step looks once."""
        self.tmux.keys(*keys)
        if until or notice:
            self.tmux.wait_for(until or notice, without)
        self.look(name, writing, quick)
        if notice:
            self.tmux.wait(f"{notice!r} is gone", lambda lines: not holds(lines, notice))

    def look(self, name, writing, quick):
        self.number += 1
        name = f"{self.number:02}-{name}"
        lines = self.tmux.settled()
        try:
            check_width(lines, self.tmux.columns)
            check_frames(lines)
        except Failed as error:
            self.fault(name, error)
        cursor = self.tmux.cursor()
        if writing is not None and (cursor is not None) != writing:
            self.fault(name, "a cursor where nothing is written" if cursor else "no cursor")
        where = f"cursor {cursor[0] + 1},{cursor[1] + 1}" if cursor else "no cursor"
        self.compare(name, f"{normal(lines)}\n-- {where}\n")
        if quick:
            return
        # Everything drawn once more: nothing of what stood there before is left over.
        self.tmux.keys("<F5>")
        again = self.tmux.settled()
        if steady(again) != steady(lines):
            self.fault(name, "not the same when it is drawn again\n" + difference(lines, again, "before", "after"))

    def compare(self, name, text):
        path = self.snapshots / f"{name}.txt"
        self.kept.add(path)
        before = path.read_text() if path.exists() else None
        if before == text:
            return
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        else:
            self.fault(name, "differs\n" + difference((before or "").splitlines(), text.splitlines(), str(path), "now"))

    def end(self):
        for path in sorted(self.snapshots.glob("*.txt")):
            if path not in self.kept:
                if self.update:
                    path.unlink()
                else:
                    self.fault(path.stem, "no step of that name")


def difference(before, after, name_before, name_after):
    return "\n".join(difflib.unified_diff(before, after, name_before, name_after, lineterm="", n=1))


def main():
    levain, snapshots, size = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]), sys.argv[3]
    update = "--update" in sys.argv
    wide, high = (int(part) for part in size.split("x"))
    if not shutil.which("tmux"):
        sys.exit("tmux is needed; on Debian: apt-get install tmux")
    # One place for everybody: a path of another length would break lines elsewhere.
    folder = pathlib.Path(f"/tmp/levain-day-{size}")
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        sys.exit(f"{folder} is there already: another run, or one that was killed. Remove it if nothing runs")
    began = time.monotonic()
    try:
        project = day_project.make(folder)
        environment = day_project.environment(folder, levain)
        subprocess.run([levain, "trust"], cwd=project, env=environment, check=True, capture_output=True)
        tmux = Tmux(folder, wide, high, environment)
        day = Day(tmux, snapshots / size, update)
        try:
            tmux.open(project)
            day_project.live(day, tmux, levain, project, folder)
            day.end()
        except Failed as error:
            day.fault(f"after step {day.number}", error)
        finally:
            tmux.close()
            end_all(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    seconds = round(time.monotonic() - began)
    faults = f", {len(day.faults)} faults" if day.faults else ""
    print(f"  {size}: {day.number} screens{faults}, {seconds} s", file=sys.stderr)
    sys.exit(1 if day.faults else 0)


main()
