"""The first file of the process that checks for the window; a script, started by its path.

It reads what is asked before it loads anything, and ends, with the process in which the user's code
runs, as soon as nobody listens any more: when its standard input is closed.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Carry out the one thing that is asked."""
    if hasattr(os, "setsid"):
        os.setsid()  # a group of its own, which also holds the process of the user's code
    ask = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_when_left, daemon=True).start()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed is no answer

    def tell(told: Mapping[str, Any]) -> None:
        answers.write(json.dumps(told).encode() + b"\n")
        answers.flush()

    sys.path.insert(0, str(ROOT))
    from core.contract.telling import tell_check  # here, once somebody listens for the end

    tell_check(ask, tell)
    answers.close()
    os._exit(0)  # the listener waits for a line that never comes


def _end_when_left() -> None:
    sys.stdin.buffer.read()
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    main()
