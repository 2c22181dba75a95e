"""Makes pictures of the recording: picture.py LEVAIN FOLDER. See scripts/picture."""

import pathlib
import re
import sys
import tempfile

from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from terminal import Terminal, end_all, environment

# As narrow as the list of threads allows: the page scales them down.
COLUMNS, ROWS = 122, 36
THEME = TerminalTheme((16, 16, 16), (208, 208, 208), [(0, 0, 0)] * 8, [(128, 128, 128)] * 8)


def colour(value):
    if value == "default":
        return None
    return f"#{value}" if len(value) == 6 and all(letter in "0123456789abcdef" for letter in value) else value


def line(row):
    text = Text()
    for column in range(COLUMNS):
        cell = row[column]
        style = Style(
            color=colour(cell.fg), bgcolor=colour(cell.bg), bold=cell.bold, italic=cell.italics,
            underline=cell.underscore, reverse=cell.reverse,
        )
        text.append(cell.data, style)
    return text


def picture(terminal, file):
    console = Console(record=True, width=COLUMNS, file=open("/dev/null", "w"), color_system="truecolor")
    for row in range(ROWS):
        console.print(line(terminal.screen.buffer[row]), soft_wrap=True)
    svg = console.export_svg(title="levain", theme=THEME)
    # A picture that fetches nothing: whatever font of fixed width there is will do.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    file.write_text(svg.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, monospace"))


def main():
    levain, pictures = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        variables = environment(folder)
        terminal = Terminal([levain, "demo"], variables, folder, COLUMNS, ROWS)

        def shows(words):
            terminal.wait(words, lambda: words in terminal.text(), 30)

        def is_whole():
            """Nothing is drawn any more."""
            before = None
            while before != len(terminal.shown):
                before = len(terminal.shown)
                terminal.read(0.5)
            return True

        try:
            shows("orders.csv")
            shows("this is a recording in")
            # What was said first is the most of a picture.
            terminal.wait("nothing is left to say", lambda: "this is a recording in" not in terminal.text(), 30)
            terminal.type("\x1bt")  # Alt+T: the threads
            terminal.wait("the threads", lambda: terminal.text().startswith(" threads"), 30)
            terminal.wait("all of them", is_whole, 30)
            picture(terminal, pictures / "screen.svg")
            terminal.type("\x1bt")
            terminal.type("\x1bOS")  # F4: the context
            shows("levain/Constitution")
            # To what was left out, and why.
            for _ in range(8):
                terminal.type("j")
            shows("inputs.occasion")
            terminal.wait("all of it", is_whole, 30)
            picture(terminal, pictures / "context.svg")
            terminal.type("\x1b")
            shows("enter send")
            terminal.type("\x03\x03")
            terminal.wait_exit(20)
        finally:
            terminal.close()
            end_all(folder)
    tree(levain, pictures / "tree.svg")
    pipeline(levain, pictures / "pipeline.svg")


HANDLERS = """handlers:
- id: typos
  stage: input
  replace: {find: teh, with: the}
- id: house-style
  stage: input
  append: " Keep the change small."
- id: rules
  stage: before_agent_start
  message: "Issues are in ISSUES.md; close none."
- id: short-memory
  stage: context
  keep_last: 40
"""


def pipeline(levain, file):
    """A prompt that stands still before a handler, after two others changed it."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        project = folder / "roof"
        (project / ".ai/config/agent").mkdir(parents=True)
        (project / ".ai/config/agent/pipeline.yaml").write_text(HANDLERS)
        command = [levain, "--model", "scripted/demo"]
        terminal = Terminal(command, environment(folder), project, COLUMNS, ROWS)

        def shows(words):
            terminal.wait(words, lambda: words in terminal.text(), 30)

        def enters(line):
            terminal.type(line)
            shows(line)
            terminal.type("\r")

        try:
            shows("enter send")
            enters("/pipeline")
            shows("handlers of files")
            terminal.type("b")  # before typos
            shows("typos (input)")
            terminal.type("\x1b")
            shows("enter send")
            enters("mend teh roof")
            shows("paused before typos")
            enters("/pipeline")
            for handler in ["typos", "house-style", "rules"]:
                shows(f"what {handler} is about to get")
                terminal.type("n")
            shows("what short-memory is about to get")
            shows("prompt 1")
            picture(terminal, file)
        finally:
            terminal.close()
            end_all(folder)


def tree(levain, file):
    """A tree of threads at work: one is done, one needs approval, one is at its limit."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        terminal = Terminal([levain, "demo", "tree"], environment(folder), folder, COLUMNS, ROWS)

        def shows(words):
            terminal.wait(words, lambda: words in terminal.text(), 30)

        try:
            shows("enter start")
            terminal.type("\r")
            shows("needs approval")
            shows("turns are used")
            terminal.type("\x14")  # Ctrl+T: the threads
            shows("? approval")
            shows("suspended")
            shows("completed")
            picture(terminal, file)
        finally:
            terminal.close()
            end_all(folder)


main()
