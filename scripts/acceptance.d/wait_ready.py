"""Waits until the server at PORT answers: wait_ready.py PORT PID SECONDS. Fails when it ends or time is up."""

import os
import sys
import time
import urllib.error
import urllib.request

port, pid, seconds = (int(word) for word in sys.argv[1:4])
start = time.monotonic()
while time.monotonic() - start < seconds:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        sys.exit("the server has ended")
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
            if answer.status == 200:
                print(f"server       ready after {time.monotonic() - start:.1f} s on port {port}")
                sys.exit(0)
    except (urllib.error.URLError, OSError):
        pass  # not listening yet, or still loading
    time.sleep(0.1)
sys.exit(f"the server was not ready after {seconds} s")
