"""What the project promises of itself: imports kept apart, and a quick answer on the command line.

Each import is looked at in a process of its own, since this one has imported plenty already.
"""

import json
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
SLOW_TO_IMPORT = {"PySide6", "pyqtgraph", "torch"}

RUN_MAIN = """
import json, sys
from app.__main__ import main
try:
    status = main(sys.argv[1:])
except SystemExit as leaving:
    status = leaving.code
print(json.dumps({"status": status, "modules": sorted(sys.modules)}))
"""

IMPORT_ALL_OF_CORE = """
import importlib, json, pkgutil, sys
import core
for module in pkgutil.walk_packages(core.__path__, "core."):
    importlib.import_module(module.name)
print(json.dumps({"status": 0, "modules": sorted(sys.modules)}))
"""


def run_python(code: str, *arguments: str) -> tuple[int, set[str], str]:
    """Status that the code reports, top-level modules it has imported, and all that it printed."""
    done = subprocess.run(  # noqa: S603  (our own interpreter and code)
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    names = {name.partition(".")[0] for name in answer["modules"]}
    return answer["status"], names, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["--version"], 0, "kvscope 0."),
        (["--help"], 0, "commands without a window"),
        (["--info"], 0, "torch 2."),
        (["run", "--help"], 0, "--capacity"),
        (["no-such-file"], 2, "'no-such-file'"),
        (["--step", "two"], 2, "'two'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_an_answer_without_work_imports_neither_qt_nor_torch(arguments, status, says):
    answered, imported, printed = run_python(RUN_MAIN, *arguments)
    assert answered == status
    assert says in printed
    assert not imported & SLOW_TO_IMPORT


def test_an_unusable_argument_is_answered_in_one_line():
    _, _, printed = run_python(RUN_MAIN, "no-such-file")
    (line,) = [line for line in printed.splitlines() if not line.startswith("{")]
    assert line.startswith("kvscope: FILE: there is no file 'no-such-file'")


def test_no_module_of_core_imports_qt_or_the_window():
    _, imported, _ = run_python(IMPORT_ALL_OF_CORE)
    assert "core" in imported
    assert not imported & {"PySide6", "shiboken6", "pyqtgraph", "app"}


def required_libraries() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return [Requirement(line) for line in project["dependencies"]]


def test_the_installed_libraries_are_in_the_ranges_that_the_project_names():
    outside = {
        each.name: metadata.version(each.name)
        for each in required_libraries()
        if metadata.version(each.name) not in each.specifier
    }
    assert outside == {}


def test_the_range_of_pyside_leaves_out_the_releases_that_break():
    (pyside,) = (each for each in required_libraries() if each.name == "PySide6-Essentials")
    assert all(version in pyside.specifier for version in ("6.8.3", "6.9.3", "6.10.3", "6.11.3"))
    assert not any(version in pyside.specifier for version in ("6.11.0", "6.11.1", "6.12.0"))
