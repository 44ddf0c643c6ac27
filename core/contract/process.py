"""Somebody's code in a process of its own: asked line by line, and ended when it falls."""

import json
import os
import queue
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

START = Path(__file__).with_name("child") / "start.py"
N_LAST_BYTES = 400
N_TRACE_BYTES = 65536
_LEAVING_S = 1.0
"""How long a process that answers no more may take to end, and its last words to arrive."""
ASK_WHERE = getattr(signal, "SIGUSR1", None)
"""Asks the process at which line it is; None: this system has no such signal."""

Line = dict[str, Any]


class Process:
    """One process. What the code in it prints is thrown away, save the end.

    Besides answers, the process tells what it is about ({"at": words}) and, while files are
    imported, that it lives ({"alive": true}); these are no answers, and begin the time limit anew.

    Attributes:
        is_open: whether it can be asked; no more once it was closed, hung or ended.
        longest_s: the longest time that a line took so far to come.
    """

    def __init__(self, serving: str) -> None:
        """Start it; `serving` is the package below `core.contract` that answers."""
        self._lines: queue.SimpleQueue[Line | None] = queue.SimpleQueue()
        self._printed: deque[int] = deque(maxlen=N_LAST_BYTES)
        self._n_asks = 0
        self._at = ""
        self._trace = tempfile.TemporaryFile()  # noqa: SIM115  (as long as the process)
        handed = (self._trace.fileno(),) if ASK_WHERE is not None else ()
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "PYTHONUNBUFFERED": "1",
            # Bytecode of a file that is saved twice in a second would be taken for that of the
            # later one; nor is the folder of the user a place for it.
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self._process = subprocess.Popen(  # noqa: S603  (our own file; what it loads was asked for)
            [sys.executable, "-P", str(START), serving, *map(str, handed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            pass_fds=handed,
        )
        self.is_open = True
        self.longest_s = 0.0
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        threading.Thread(target=self._collect, daemon=True).start()

    def close(self) -> None:
        """End it."""
        if self.is_open:
            self.is_open = False
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
                if stream is not None:
                    stream.close()
            self._trace.close()

    def ask(self, message: Mapping[str, Any], limit_s: float) -> Iterator[Line]:
        """What it tells of this, as long as somebody wants to hear it.

        Where it takes longer than `limit_s` for a line, or ends, that is the last one told:
        {"hung": limit_s} or {"ended": status, "printed": last line}, both with "at", what it was
        about, and "where", the line of a file in which it was; "" where that is not known. What was
        not heard of an earlier message is passed over.
        """
        self._n_asks += 1
        self._at = ""
        number = self._n_asks
        self._write({**message, "ask": number})
        while self.is_open:
            told = self._next(limit_s)
            if told.get("of", number) != number or "alive" in told:
                continue
            if "at" in told and not told.keys() & {"hung", "ended"}:
                self._at = str(told["at"])
                continue
            yield told

    def _write(self, message: Line) -> None:
        assert self._process.stdin is not None  # noqa: S101  (it is a pipe)
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the next line says that it ended

    def _next(self, limit_s: float) -> Line:
        began_s = time.monotonic()
        try:
            told = self._lines.get(timeout=limit_s)
            self.longest_s = max(self.longest_s, time.monotonic() - began_s)
        except queue.Empty:
            where = self._where()
            self.close()
            return {"hung": limit_s, "at": self._at, "where": where}
        return self._end() if told is None else told

    def _end(self) -> Line:
        try:
            status = self._process.wait(_LEAVING_S)
        except subprocess.TimeoutExpired:
            status = None  # it closed its streams, and runs on
        self._listener.join(_LEAVING_S)
        where = self._told_where()
        self.close()
        lines = bytes(self._printed).decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return {"ended": status, "printed": last, "at": self._at, "where": where}

    def _where(self) -> str:
        """Ask a process that does not answer at which line it is."""
        if ASK_WHERE is None:
            return ""
        self._process.send_signal(ASK_WHERE)
        until, where = time.monotonic() + _LEAVING_S, ""
        while time.monotonic() < until:
            time.sleep(0.05)
            before, where = where, self._told_where()
            if where and where == before:  # all of it is written
                break
        return where

    def _told_where(self) -> str:
        """The innermost line that it wrote down: of the user's files before those of libraries."""
        if ASK_WHERE is None:
            return ""
        text = os.pread(self._trace.fileno(), N_TRACE_BYTES, 0).decode(errors="replace")
        frames = re.findall(r'File "(.+)", line (\d+) in (.+)', text)
        own = str(START.parents[1])
        theirs = [frame for frame in frames if not frame[0].startswith((own, "<frozen"))]
        nearest = [frame for frame in theirs if not _is_of_library(frame[0])]
        for file, line, name in (nearest or theirs)[:1]:
            function = "" if name.startswith("<") else f", in {name}()"
            return f"{Path(file).name}, line {line}{function}"
        return ""

    def _collect(self) -> None:
        """Hand over each line as it comes; None: there are no more."""
        assert self._process.stdout is not None  # noqa: S101  (it is a pipe)
        try:
            for line in self._process.stdout:
                self._lines.put(json.loads(line))
        except ValueError:
            pass  # closed meanwhile, or killed amid a line
        self._lines.put(None)

    def _listen(self) -> None:
        """Keep the last bytes of what the user's code prints, however much that is."""
        assert self._process.stderr is not None  # noqa: S101  (it is a pipe)
        try:
            while piece := os.read(self._process.stderr.fileno(), 65536):
                self._printed.extend(piece)
        except (OSError, ValueError):
            pass  # closed meanwhile


def _is_of_library(file: str) -> bool:
    return "site-packages" in file or file.startswith(sysconfig.get_paths()["stdlib"])
