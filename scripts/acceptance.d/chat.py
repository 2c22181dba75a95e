"""One chat through a pseudo-terminal: chat.py LEVAIN openai|anthropic|responses PORT.

Starts levain in an empty home against the server, types a question, waits until the answer has streamed onto the screen
and the turn has ended, leaves, and compares screen, log and the server's own counters. Prints figures; exits 1 when
something does not hold. Every wait has a deadline, and every process started here is ended.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time
import urllib.request

from terminal import Failed, Terminal, check, environment, started_here

QUESTION = "What is the capital of France? Answer with one short sentence."
READY, ANSWER, LEAVE = 20, 240, 20  # seconds

def counters(port):
    """The server's own count of tokens read and written."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    values = dict(re.findall(r"^llamacpp:(\w+) ([0-9.e+]+)$", text, re.MULTILINE))
    return float(values["prompt_tokens_total"]), float(values["tokens_predicted_total"])


def events(project):
    """Every whole line of every thread's log."""
    found = []
    for log in sorted(project.glob(".ai/agent/threads/**/transcript.jsonl")):
        for line in log.read_bytes().split(b"\n")[:-1]:
            if line.strip():
                found.append(json.loads(line))
    return found


def of_type(project, *names):
    return [event for event in events(project) if event["event_type"] in names]


def chat(levain, form, port, folder):
    project = folder / "project"
    (project / ".ai").mkdir(parents=True)
    variables = environment(folder)
    home = folder / "home"
    if form == "openai":
        variables["OPENAI_BASE_URL"] = f"http://127.0.0.1:{port}/v1"  # and no key: a local server wants none
    elif form == "responses":
        provider = home / ".ai" / "tools" / "providers" / "responses.yaml"
        provider.parent.mkdir(parents=True)
        provider.write_text(
            f"tool_id: responses\nwire: responses\nconfig:\n  url: http://127.0.0.1:{port}/v1/responses\n  auth: {{ type: none }}\n"
        )
    else:
        variables["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{port}"
        variables["ANTHROPIC_API_KEY"] = "dummy"

    # The model is a very small one: tools and a page of context would be all it talks about.
    directive = project / ".ai" / "directives" / "bare.md"
    directive.parent.mkdir(parents=True)
    directive.write_text("""```xml
<directive name="bare" version="1.0.0">
  <metadata>
    <context><suppress>ctx_environment</suppress><suppress>ctx_directive_instruction</suppress></context>
  </metadata>
</directive>
```

Answer the question.
""")

    read_before, written_before = counters(port)
    terminal = Terminal([levain, "--model", f"{form}/smollm2", "bare"], variables, project)
    try:
        terminal.wait("the status line names the model", lambda: "smollm2" in terminal.text(), READY)
        ready = terminal.seconds()
        terminal.type(QUESTION)
        terminal.wait("the composer shows the question", lambda: "Answer with one short" in terminal.text(), READY)
        sent = terminal.seconds()
        terminal.type("\r")
        ended = ("cognition_out", "thread_error", "thread_cancelled")
        terminal.wait("the turn has ended", lambda: of_type(project, *ended), ANSWER)
        finished = terminal.seconds()

        failures = of_type(project, "error_classified", "thread_error")
        check(not failures, f"the call failed: {failures}")
        answer = of_type(project, "cognition_out")[0]["payload"]
        usage = answer["usage"]
        opening = answer["text"].strip().split("\n")[0][:24].strip()
        check(opening, f"the answer is empty: {answer}")
        terminal.wait("the screen shows the answer", lambda: opening in terminal.text(), READY)
        words = opening.split(" ")[0]
        before = [text.count(words) for at, text in terminal.shown if at <= sent][-1]
        first = next(at for at, text in terminal.shown if at > sent and text.count(words) > before)
        partial = [text for at, text in terminal.shown if first <= at < finished]

        terminal.type("\x03\x03")
        code = terminal.wait_exit(LEAVE)
    finally:
        terminal.close()

    read_after, written_after = counters(port)
    read, written = read_after - read_before, written_after - written_before
    prompt = usage["input"] + usage["cache_read"] + usage["cache_write"]
    check(written > 0, "the server has written nothing: was it asked?")
    check(usage["output"] > 0 and prompt > 0, f"the log has no usage: {usage}")
    check(abs(usage["output"] - written) <= 1, f"usage says {usage['output']} tokens, the server {written:.0f}")
    check(answer["stop"]["reason"] in ("end_turn", "max_tokens"), f"the answer ended with {answer['stop']}")
    check(usage["output"] < 6 or len(partial) >= 2, "the answer came at once: it was not streamed")
    check(list(project.glob(".ai/agent/threads/**/requests/1.json")), "requests/1.json was not written")
    check(code == 0, f"levain left with {code}")

    deadline = time.monotonic() + LEAVE
    while started_here(folder):
        check(time.monotonic() < deadline, f"the worker still runs {LEAVE} s after the screen left in order")
        time.sleep(0.05)

    took = finished - first
    print(f"{form:<12} {answer['text'].strip()!r}")
    print(f"             ready {ready * 1000:.0f} ms · first text {first - sent:.2f} s after Enter · "
          f"{len(partial)} screens while it streamed · {usage['output'] / took if took > 0 else 0:.1f} tokens/s")
    print(f"             usage: {prompt} in ({usage['cache_read']} cached), {usage['output']} out · "
          f"server: {read:.0f} read, {written:.0f} written · stop {answer['stop']['reason']} · exit {code}")


def main():
    levain, form, port = os.path.abspath(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    if form not in ("openai", "anthropic", "responses"):
        sys.exit(__doc__)
    if not os.access(levain, os.X_OK):
        sys.exit(f"{levain} is no program; set LEVAIN or build it")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="levain-acceptance-"))
    try:
        chat(levain, form, port, folder)
    except Failed as failure:
        print(f"{form:<12} FAILED: {failure}")
        for log in folder.glob("project/.ai/agent/threads/**/worker.log"):
            print(f"--- end of worker.log\n{log.read_text(errors='replace')[-2000:]}")
        sys.exit(1)
    finally:
        for pid in started_here(folder):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    main()
