"""Makes a picture of the recording: picture.py LEVAIN FILE.svg. See scripts/picture."""

import pathlib
import re
import sys
import tempfile

from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from terminal import Terminal, end_all, environment

COLUMNS, ROWS = 118, 36
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


def main():
    levain, file = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        variables = environment(folder)
        terminal = Terminal([levain, "demo"], variables, folder, COLUMNS, ROWS)
        try:
            terminal.wait("the recording", lambda: "orders.csv" in terminal.text(), 30)
            # What was said first is the most of a picture.
            terminal.wait("nothing is left to say", lambda: "a recording, in" not in terminal.text(), 30)
            console = Console(record=True, width=COLUMNS, file=open("/dev/null", "w"), color_system="truecolor")
            for row in range(ROWS):
                console.print(line(terminal.screen.buffer[row]), soft_wrap=True)
            picture = console.export_svg(title="levain", theme=THEME)
            # A picture that fetches nothing: whatever font of fixed width there is will do.
            picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
            file.write_text(picture.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, monospace"))
            terminal.type("\x03\x03")
            terminal.wait_exit(20)
        finally:
            terminal.close()
            end_all(folder)


main()
