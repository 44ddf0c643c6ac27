"""The program in a process of its own, with settings of its own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRELUDE = """
import sys
from PySide6.QtWidgets import QApplication
from app.__main__ import main
from app.run_control import RunControl

def seen(name):
    act = getattr(RunControl, name)

    def see(self, *args, **named):
        cursor = self.cursor
        print("painted", cursor.n_records, "steps, torch loaded:", "torch" in sys.modules)
        act(self, *args, **named)
        prepare(self)

    return see

RunControl.begin, RunControl.take_over = seen("begin"), seen("take_over")
"""


def started(tmp_path: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own, with a settings file of its own."""
    return run_code(tmp_path, f"{PRELUDE}{script}\nsys.exit(main({list(arguments)!r}))")


def run_code(tmp_path: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, with a settings file of its own."""
    environment = {
        **os.environ,
        "QT_QPA_PLATFORM": "offscreen",
        "XDG_CONFIG_HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.run(  # noqa: S603  (our own interpreter and our own words)
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
