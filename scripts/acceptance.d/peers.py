"""A tool-call round and rough weather, against a server of every wire form that we did not write (aimock).

Usage: peers.py LEVAIN AIMOCK_BIN FORM…
Each form is asked for a call of a tool and answers once it has the tool's result; then the server is started again
with each of its faults, and the program must end in time, with a sentence that says what happened.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

FIXTURES = {
    "fixtures": [
        {
            "match": {"userMessage": "weather", "hasToolResult": False},
            "response": {
                "content": "Let me look.",
                "toolCalls": [{"name": "get_weather", "arguments": {"location": "Paris"}}],
            },
        },
        {"match": {"userMessage": "weather", "hasToolResult": True}, "response": {"content": "18C and sunny."}},
        {"match": {"userMessage": "hello"}, "response": {"content": "Hello from a server that is no model. " * 20}},
        {
            "match": {"userMessage": "overloaded"},
            "response": {"error": {"message": "Overloaded", "type": "overloaded_error"}, "status": 529},
        },
    ]
}

# How each form is reached: the model, and the variables that point at the server.
FORMS = {
    "anthropic": ("anthropic/claude-sonnet-4-5", {"ANTHROPIC_BASE_URL": "{base}", "ANTHROPIC_API_KEY": "k"}),
    "chat": ("openai/gpt-4o", {"OPENAI_BASE_URL": "{base}/v1", "OPENAI_API_KEY": "k"}),
    "responses": ("openai-responses/gpt-4o", {"OPENAI_BASE_URL": "{base}/v1", "OPENAI_API_KEY": "k"}),
    "gemini": ("gemini/gemini-2.5-flash", {"GOOGLE_GEMINI_BASE_URL": "{base}", "GEMINI_API_KEY": "k"}),
    "ollama": ("ollama/llama3.2", {"OLLAMA_BASE_URL": "{base}/v1"}),
}

# Faults of the server, and a word that the error must hold; none where the answer comes all the same.
CHAOS = [
    (["--chaos-disconnect", "1"], ("connection", "broke", "ended", "closed", "reset")),
    (["--chaos-malformed", "1"], ("not", "read", "JSON", "malformed", "expected", "ended")),
    (["--chaos-ratelimit", "1"], ("rate", "limit", "429")),
    (["--chaos-drop", "1"], ("500", "server", "error", "dropped")),
    (["--chaos-latency", "1500"], None),
    (["--chunk-size", "1"], None),
    (["--chunk-size", "7", "--latency", "3"], None),
]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    def __init__(self, program, folder, options):
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        command = [program, "-p", str(self.port), "-h", "127.0.0.1", "-f", folder, "--log-level", "silent", "--strict"]
        self.process = subprocess.Popen(command + options, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        start_new_session=True)
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=0.2).close()
                return
            except OSError:
                if time.monotonic() > deadline:
                    self.stop()
                    raise SystemExit("the server did not start")
                time.sleep(0.02)

    def stop(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def run(levain, base, form, prompt, project, seconds=90):
    model, variables = FORMS[form]
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "TERM", "LANG") if name in os.environ}
    environment = {**keep, **{name: value.format(base=base) for name, value in variables.items()}}
    environment["XDG_CONFIG_HOME"] = os.path.join(project, "config")
    begun = time.monotonic()
    done = subprocess.run([levain, "run", "--json", "--project", project, "--model", model, prompt], env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, text=True)
    if not done.stdout.strip():
        raise SystemExit(f"{form}: nothing came out: {done.stderr}")
    return json.loads(done.stdout), time.monotonic() - begun


def main():
    levain, program, *forms = sys.argv[1:]
    failed = []
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as project:
        with open(os.path.join(folder, "fixtures.json"), "w") as file:
            json.dump(FIXTURES, file)
        server = Server(program, folder, [])
        try:
            for form in forms:
                result, took = run(levain, server.base, form, "what is the weather?", project)
                good = result["success"] and "18C and sunny" in result["result"] and result["cost"]["turns"] == 2
                print(f"{form:<11} tool-call round  {'ok' if good else 'FAILED'}  {took:.2f} s  {result['result']!r}")
                if not good:
                    failed.append(f"{form}: {json.dumps(result)}")
        finally:
            server.stop()
        for options, words in CHAOS:
            server = Server(program, folder, options)
            try:
                for form in forms:
                    result, took = run(levain, server.base, form, "hello", project)
                    name = " ".join(options).lstrip("-")
                    if words is None:
                        good = result["success"] and result["result"].startswith("Hello from a server")
                        said = f"{len(result['result'])} letters"
                    else:
                        said = result.get("error") or ""
                        good = not result["success"] and any(word in said for word in words)
                    print(f"{form:<11} {name:<28} {'ok' if good else 'FAILED'}  {took:.2f} s  {said[:110]}")
                    if not good:
                        failed.append(f"{form} {name}: {json.dumps(result)[:600]}")
            finally:
                server.stop()
    for line in failed:
        print(f"FAILED {line}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
