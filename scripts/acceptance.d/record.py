"""Plays the recording: record.py LEVAIN FOLDER. See scripts/record."""

import pathlib
import re
import shutil
import sys
import tempfile

from terminal import Terminal, end_all, environment

# The path that stands in the recorded texts.
PROJECT = pathlib.Path("/tmp/bakery")
PATIENCE = 60


def play(terminal):
    def say(text, *until):
        terminal.type(text)
        terminal.wait("the draft is there", lambda: text[:30] in terminal.text(), PATIENCE)
        terminal.type("\r")
        for words in until:
            terminal.wait(words, lambda: words in terminal.text(), PATIENCE)
        terminal.wait("rest", lambda: "enter send" in terminal.text() or "allow once" in terminal.text(), PATIENCE)

    def new():
        terminal.type("\x1bn")
        terminal.wait("a new thread", lambda: "A new thread" in terminal.text(), PATIENCE)

    terminal.wait("a new thread", lambda: "A new thread" in terminal.text(), PATIENCE)
    say("my starter smells sour, what now?", "more than the clock")
    new()
    say("a script that scales recipes, please", "'levain': 750")
    new()
    say("what do we bake tonight?", "Shall I write that down?")
    say("yes, write it down", "allow once")
    terminal.type("y")
    terminal.wait("the plan is written", lambda: "good night" in terminal.text(), PATIENCE)
    say("and print it on paper", "allow once")
    terminal.type("n")
    terminal.wait("the printer is left alone", lambda: "leave the printer alone" in terminal.text(), PATIENCE)
    say("!head -3 orders.csv", "Grace,wheat")
    terminal.type("\x03")
    terminal.wait("asked again", lambda: "again" in terminal.text(), PATIENCE)
    terminal.type("\x03")
    terminal.wait_exit(PATIENCE)


def main():
    levain, recording = sys.argv[1], pathlib.Path(sys.argv[2])
    if PROJECT.exists():
        sys.exit(f"{PROJECT} is there already; move it away")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        variables = environment(folder)
        shutil.copytree(recording / "project", PROJECT)
        try:
            Terminal([levain, "trust"], variables, PROJECT).wait_exit(PATIENCE)
            terminal = Terminal([levain], variables, PROJECT, 118, 36)
            try:
                play(terminal)
            finally:
                terminal.close()
            for part in ("agent", "objects"):
                shutil.rmtree(recording / part, ignore_errors=True)
            ignore = shutil.ignore_patterns(".gitignore", "registry.db*", "worker.*", "history.jsonl", "*.sock")
            shutil.copytree(PROJECT / ".ai" / "agent", recording / "agent", ignore=ignore)
            shutil.copytree(PROJECT / ".ai" / "objects", recording / "objects", ignore=ignore)
            for name in ("transcript.jsonl", "thread.json"):
                for file in recording.glob(f"agent/threads/*/{name}"):
                    # Whoever unpacks it makes it their own; with the key of whoever recorded it, it would be somebody else's.
                    file.write_text(re.sub(r',"mac":"[0-9a-f]+"}$', "}", file.read_text(), flags=re.M))
        finally:
            end_all(folder)
            shutil.rmtree(PROJECT)


main()
