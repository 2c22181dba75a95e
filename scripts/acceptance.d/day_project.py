"""The project of a day in the life, and what is done in it. Every field holds wide letters, emoji and combining marks."""

import re
import struct
import zlib

from terminal import environment as empty_environment

E = "e\u0301"  # é of two letters
FOLDER = f"面包店 🥐 caf{E}"
DIRECTIVE = f"日本/焼く🥐{E}"
KNOWLEDGE = f"粉/小麦🌾{E}"
ORDERS = f"注文🥖{E}.csv"
PLAN = f"計画📋{E}.md"
PICTURE = f"写真📷{E}.png"

DIRECTIVE_TEXT = f"""# 焼く — bake 🥐

```xml
<directive name="焼く🥐{E}" version="1.0.0" extends="levain/core/base">
  <metadata>
    <description>今夜のパンを焼く 🥐 for the caf{E} at the corner, with 小麦 and an hour to cool 👩‍🍳</description>
    <category>日本</category>
    <author>店長 Ren{E}e</author>
    <permissions>
      <execute>
        <tool>rye/file-system/read</tool>
        <tool>rye/file-system/ls</tool>
        <tool ask="true">rye/file-system/write</tool>
        <tool ask="true">rye/bash/bash</tool>
      </execute>
    </permissions>
    <context>
      <system>{KNOWLEDGE}</system>
      <before optional="true">粉/無い🚫</before>
      <suppress>levain/core/protocol/sign</suppress>
      <provider>memory</provider>
    </context>
  </metadata>
  <inputs>
    <input name="店" type="string" required="true">どの店のために — which caf{E} 🏪 it is for</input>
    <input name="数" type="integer" default="12">How many loaves 🍞 パンの数</input>
    <input name="急ぐ" type="boolean" default="false">Whether it has to be quick 🏃 急ぐかどうか</input>
  </inputs>
</directive>
```

Bake {{input:数}} loaves for {{input:店}} 🥐 (急ぐ: {{input:急ぐ}}).
"""

KNOWLEDGE_TEXT = f"""<!-- levain: 小麦 -->
# 小麦 — wheat 🌾 caf{E}

Wheat 小麦粉 takes 65 % of water 💧; rye ライ麦 takes 85 %.
A loaf パン 🍞 cools for an hour 🕐 before anybody cuts it.
"""

SCENARIO = f"""
name: 焼く
description: A day at the bakery 🥐
rate: 0
replies:
  - when: {{ after_tool: rye_file_system_read }}
    steps:
      - thinking: "五つの注文 🥖 five orders; 藤村 comes first, so begin with rye ライ麦 caf{E}."
      - text: |
          Twelve loaves 十二個, and **藤村 🥐 is first**, at 07:30.

          | パン 🍞 | loaves | flour 小麦粉 | who caf{E} |
          | --- | ---: | ---: | --- |
          | ライ麦 rye | 5 | 2,500 g | 藤村 🥐, Ren{E}e |
          | 小麦 wheat 🌾 | 5 | 2,400 g | 店長 👩‍🍳 |
          | 種 seeds | 2 | 900 g | 花 🌸 |

          - feed the starter 元種 before ten 🕙
          - `levain --plain` 素朴 is the quiet 静か way

          > 急がば回れ: who is in a hurry takes the long way 🐢 caf{E}

          ```python
          def 数(パン: str) -> int:  # 🥖 caf{E}
              return {{"ライ麦": 5, "小麦🌾": 5}}[パン]
          ```
  - when: {{ after_tool: rye_file_system_write }}
    steps:
      - text: "It is in `{PLAN}` 📋, 小麦 first; おやすみ caf{E}."
  - when: {{ after_tool: rye_bash }}
    steps:
      - text: "Then the boxes 📦 箱 stay where they are, caf{E}."
  - when: {{ contains: 注文 }}
    steps:
      - text: First the orders 注文 🥖.
      - tool_call: {{ name: rye_file_system_read, input: {{ path: "{ORDERS}" }} }}
  - when: {{ contains: 計画 }}
    steps:
      - text: Here is what I would write 計画 📋.
      - tool_call:
          name: rye_file_system_write
          input:
            path: "{PLAN}"
            content: |
              # 今夜 🌙 caf{E}

              - 00:45 小麦 🌾: 5 loaves, 2,400 g
              - 01:35 ライ麦: 5 loaves, 2,500 g, and then a very long line 長い行 that goes on 続く and on 続く until it has to be broken somewhere, 🥐 caf{E} or anywhere
  - when: {{ contains: 捨てる }}
    steps:
      - text: I would throw the boxes away 📦.
      - tool_call: {{ name: rye_bash, input: {{ command: "rm -rf '箱📦{E}' && echo '捨てた 🗑 caf{E}'" }} }}
  - when: {{ contains: 流れ }}
    steps:
      - text: "The river 川 flows 流れる 🌊 "
      - pause: 12000
      - text: "down to the sea 海 🐟 caf{E}."
  - when: {{ contains: 次 }}
    steps:
      - text: "Next 次 🍞: the seeds 種 caf{E}."
  - when: {{ contains: 写真 }}
    steps:
      - text: "A white square 白い 📷 caf{E}."
  - steps:
      - text: "はい 🥐 caf{E}."
"""

EDITOR = """#!/bin/sh
printf '%s\\n' "$@" >>"$HOME/opened"
"""


def picture():
    """A white square of 8 pixels, as PNG."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\xff" * 24 for _ in range(8))
    head = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def make(folder):
    project = folder / FOLDER
    for path, text in {
        f".ai/directives/{DIRECTIVE}.md": DIRECTIVE_TEXT,
        f".ai/knowledge/{KNOWLEDGE}.md": KNOWLEDGE_TEXT,
        ".ai/knowledge/壊れた💥.yaml": "名前: [壊れた\n",
        "焼く.yaml": SCENARIO,
        ORDERS: f"name,パン,数\n藤村 🥐,ライ麦,3\nRen{E}e,ライ麦,2\n店長 👩‍🍳,小麦🌾,5\n花 🌸,種,2\n",
        "AGENTS.md": f"Speak of パン 🍞 with respect, caf{E}.\n",
    }.items():
        file = project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (project / PICTURE).write_bytes(picture())
    return project


def environment(folder, levain):
    variables = empty_environment(folder)
    editor = folder / "editor"
    editor.write_text(EDITOR)
    editor.chmod(0o755)
    return variables | {"EDITOR": str(editor), "TZ": "UTC", "LEVAIN": str(levain), "ENV": ""}


def live(day, tmux, levain, project, folder):
    """The day, from opening to coming back the next."""
    step = day.step
    rest = "enter send"
    step("open", "$LEVAIN --model scripted/焼く.yaml", "<Enter>", until="A new thread", writing=True)

    step("directives", "<M-s>", until=DIRECTIVE, writing=None)
    step("directives-filtered", "焼く", until=DIRECTIVE, without="levain/core", writing=True)
    step("form", "<Enter>", until="数", writing=True)
    step("form-without-a-value", "<Enter>")
    step("form-wrong", f"藤村🥐caf{E}", "<Tab>", "十二", "<Enter>", until="must be", writing=True)
    step("form-right", "<C-u>", "12", until="12", without="十二", writing=True)
    step("form-started", "<Enter>", until="焼く", without="パンの数", writing=True)

    step("prompt", f"注文 🥖 を読む caf{E}, please", until="please", writing=True)
    step("answer", "<Enter>", until="静か", writing=True)
    step("asked-to-write", f"計画 📋 caf{E}", "<Enter>", until="allow once")
    step("allowed", "y", until="おやすみ", without="working", writing=True)
    step("asked-to-run", f"捨てる 📦 caf{E}", "<Enter>", until="allow once")
    step("denied", "n", until="stay where", writing=True)

    # The answer holds still for twelve seconds.
    step("streams", f"流れ 🌊 caf{E}", "<Enter>", until=re.compile(r"streaming \d s"), quick=True)
    step("followed-up", f"次の種 🌱 caf{E}", "<M-Enter>", until="◌ follow-up", quick=True)
    step("queue", "<M-q>", until="queued messages", quick=True)
    tmux.keys("e")
    step("queue-edited", " 二つ", until=f"› 次の種 🌱 caf{E} 二つ", writing=True, quick=True)
    step("queued-again", "<M-Enter>", until="◌ follow-up", quick=True)
    tmux.wait_for("down to the sea")
    tmux.wait_for("種 caf")
    step("followed", until=rest)

    step("command", f"!printf 'パン 🍞 caf{E}\\n小麦\\n'; ls", "<Enter>", until=PICTURE, writing=True)
    step("completion", f"@写", until=PICTURE, writing=True)
    step("picture", "<Tab>", "写真 📷", writing=True)
    step("picture-seen", "<Enter>", until="white square", writing=True)

    step("search", "<C-s>", "小麦", until="小麦", writing=True)
    step("search-accepted", "<Enter>")
    step("search-next", "n")
    step("reading-top", "g")
    step("reading-folded", "j", "j", "j", "j", "<Enter>")
    step("reading-range", "v", "j")
    step("copied", "y", notice="copied")
    step("writing-again", "<Escape>", writing=True)

    step("export", "/export md", until="/export", writing=True)
    step("exported", "<Enter>", notice="written to", writing=True)
    tmux.keys("<C-End>")
    step("threads", "<C-t>", until="焼く")
    step("threads-closed", "<Escape>", writing=True)
    step("models", "<C-l>", until="scripted/demo")
    step("models-filtered", "tools", until="scripted/tools", writing=True)
    step("model-chosen", "<Enter>", until="model is now", writing=True)
    step("theme", "/theme", "<Enter>", until="high-contrast")
    step("theme-chosen", "light", "<Enter>", without="high-contrast", writing=True)
    step("palette", "<F2>", until="commands · ", writing=True)
    step("palette-closed", "<Escape>", writing=True)
    step("help", "<F1>")
    step("help-page", "<PPage>", "<NPage>")
    step("help-closed", "<Escape>", writing=True)
    step("items", "<M-i>", until="items · ")
    step("items-broken", "/", "壊れた", until="壊れた")
    step("items-closed", "<Escape>", "<Escape>", "<Escape>")

    step("preview", f"次 🍞 caf{E}", "<C-p>", until="would send")
    step("preview-text", "t")
    step("preview-text-next", "<Tab>")
    step("preview-text-search", "/", "パン", "<Enter>")
    step("preview-wire", "w")
    step("preview-wire-next", "w")
    step("preview-difference", "d")
    step("preview-again", "<Escape>")
    step("preview-marked", "m")
    step("preview-opened", "o")
    step("preview-copied", "y", notice="copied")
    step("preview-absent", "G")
    step("preview-edit", "e", writing=True)
    step("preview-once-more", "<C-p>", until="would send")
    step("preview-sent", "<Enter>", until="that nothing grants", without="would send", writing=True)
    step("context", "<F4>", until="constitution")
    step("context-earlier", "[")
    step("context-earliest", "[", "[", "[", "[", "[", "[", "[", "[")
    step("context-later", "]")
    step("context-difference", "d")
    step("context-closed", "<Escape>", "<Escape>", writing=True)

    step("asked-to-leave", "<C-c>", until="again", quick=True)
    step("left", "<C-c>", without="threads", until="> ", quick=True)
    step("back", "clear; $LEVAIN --continue", "<Enter>", until="scripted", writing=True)
    step("screen-copied", "<M-c>", notice="copied")
