"""The commands as a shell sees them: a few only, since each of them starts Python anew."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core.tracefile import open_trace

ROOT = Path(__file__).resolve().parents[2]
RUN = ("run", "--model", "tiny-learned", "--prompt", "Ida has a lamp")


def kvscope(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "app", *arguments]


def started(*arguments: str) -> subprocess.Popen:
    return subprocess.Popen(  # noqa: S603  (our own interpreter and code)
        kvscope(*arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": ""},  # as in a shell: output is held back
    )


def without_progress(error: str) -> str:
    """What is said on standard error; a slow machine says there how far it is."""
    return "".join(line for line in error.splitlines(True) if not line.startswith("step "))


def finished(*arguments: str) -> tuple[int, str, str]:
    with started(*arguments) as child:
        out, error = child.communicate(timeout=100)
    return child.returncode, out, without_progress(error)


def test_a_run_with_a_fault_and_check_has_status_1_and_json_only_on_its_output():
    status, out, error = finished(
        *RUN, "--steps", "2", "--fault", "pos-restart", "--json", "--check"
    )
    lines = [json.loads(line) for line in out.splitlines()]
    assert (status, error, lines[-1]["first_wrong_step"]) == (1, "", 1)


def test_an_unknown_fault_has_status_2_and_one_line():
    status, out, error = finished("run", "--fault", "no-such-fault")
    assert (status, out, error.count("\n")) == (2, "", 1)


def test_an_error_of_our_own_has_status_3():
    code = (
        "import sys; from app import cli_faults; cli_faults.FAULTS = None;"
        "from app.__main__ import main; sys.exit(main(['faults']))"
    )
    done = python(code)
    assert (done.returncode, "Traceback" in done.stderr) == (3, True)


def python(code: str) -> subprocess.CompletedProcess:
    return subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False
    )


def test_until_ctrl_c_is_heard_nothing_is_imported():
    done = python(
        "import sys; before = set(sys.modules); import app.__main__;"
        "print(sorted(set(sys.modules) - before))"
    )
    assert done.stdout == "['app', 'app.__main__']\n"


def test_ctrl_c_while_the_program_is_imported_is_quiet_and_has_status_130():
    done = python(
        "import sys; from app.__main__ import main\n"
        "class Interrupted:\n"
        "    def find_spec(name, path, target=None):\n"
        "        raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted)\n"
        "sys.exit(main(['faults']))"
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("module", ["numpy.linalg", "numpy._core.multiarray", "torch.nn"])
def test_a_request_to_end_while_a_library_is_imported_is_heard_once_it_is_there(module, name):
    """Each of these modules would swallow an exception, or leave its library half made."""
    done = python(
        "import signal, sys\n"
        "from app.__main__ import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Asks:\n"
        "    has_asked = False\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name == {module!r} and not self.has_asked:\n"
        "            self.has_asked = True\n"
        f"            signal.raise_signal(signal.{name})\n"
        "sys.meta_path.insert(0, Asks())\n"
        "sys.exit(main(['run', '--fault', 'pos-restart']))"
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "kvscope: interrupted\n")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_run_that_is_asked_to_end_has_status_130_all_its_lines_and_its_trace(tmp_path, name):
    path = tmp_path / "run.kvtrace"
    many = ("--policy", "window", "--steps", "242", "--json", "--trace", str(path))
    with started(*RUN, *many) as child:
        assert child.stdout is not None
        child.stdout.readline()
        child.send_signal(getattr(signal, name))
        out, error = child.communicate(timeout=100)
    assert (child.returncode, without_progress(error)) == (130, "")
    assert json.loads(out.splitlines()[-1])["reason"] == "cancelled"
    assert open_trace(path).trace.end == "cancelled"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_a_request_to_end_while_a_file_is_written_leaves_none(tmp_path, name):
    done = python(
        "import signal, sys\n"
        "from core import whole_files\n"
        f"whole_files._flush = lambda path: signal.raise_signal(signal.{name})\n"
        "from app.__main__ import main\n"
        f"sys.exit(main([*{RUN!r}, '--steps', '1', '--trace', {str(tmp_path / 'a.kvtrace')!r}]))"
    )
    assert done.returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_leaves_early_is_no_traceback():
    with started(*RUN, "--policy", "window", "--steps", "200", "--json") as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert without_progress(child.stderr.read()) == ""
        assert child.wait(timeout=100) == 130


FULL_DISK = Path("/dev/full")
needs_full_disk = pytest.mark.skipif(not FULL_DISK.exists(), reason="there is no /dev/full")


def redirected(arguments: str, where: str) -> tuple[int, str, str]:
    """A command whose output or error goes elsewhere."""
    command = f"{shlex.join(kvscope())} {arguments} {where}"
    done = subprocess.run(  # noqa: S602  (our own words)
        command, shell=True, capture_output=True, text=True, cwd=ROOT, check=False
    )
    return done.returncode, done.stdout, without_progress(done.stderr)


@needs_full_disk
@pytest.mark.parametrize(
    "arguments",
    ["faults", "faults --json", "--info", shlex.join((*RUN, "--json")), shlex.join(RUN)],
)
def test_an_output_that_is_full_has_status_2_and_one_line(arguments):
    status, _, error = redirected(arguments, ">/dev/full")
    assert (status, error) == (
        2,
        "kvscope: standard output cannot be written (No space left on device)\n",
    )


LOUD = """\
import atexit, os, subprocess, sys
import numpy as np
from core.faults.own import OwnFault

KEPT = sys.__stdout__


def say(when):
    print("print", when)
    KEPT.write(f"kept {when}\\n")
    os.write(1, f"descriptor {when}\\n".encode())


def wrong(past_len, n_new, ledger):
    say("asked")
    return np.arange(n_new)


say("imported")
subprocess.run([sys.executable, "-c", "print('program imported')"])
atexit.register(os.write, 1, b"descriptor leaving\\n")
FAULT = OwnFault(id="loud", title="It is loud", seam="position_ids", function=wrong)
"""


@pytest.fixture
def loud(tmp_path) -> str:
    path = tmp_path / "loud.py"
    path.write_text(LOUD, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "kinds"),
    [
        ((*RUN, "--steps", "1", "--json"), ["run", "step", "step", "end"]),
        (("matrix", "--prompts", "1", "--policy", "refuse", "--model", "tiny-rope", "--json"),
         ["cell"]),
        (("battery", "--only", "one-by-one", "--most", "1", "--json"),
         ["battery", "law", "failure", "end"]),
        (("faults", "--json"), ["fault", "combination", "own fault"]),
    ],
    ids=lambda value: value[0],
)  # fmt: skip
def test_whatever_a_fault_of_ones_own_writes_stays_out_of_the_json(loud, arguments, kinds):
    _, out, error = finished(*arguments, "--fault-file", loud)
    found = [json.loads(line)["kind"] for line in out.splitlines()]
    assert (list(dict.fromkeys(found)) if arguments[0] == "faults" else found) == kinds
    for way in ("print", "kept", "descriptor", "program"):
        assert f"{way} imported\n" in error
    assert "descriptor leaving\n" in error
    asked = arguments[0] != "faults"
    assert [f"{way} asked\n" in error for way in ("print", "kept", "descriptor")] == [asked] * 3


@needs_full_disk
def test_an_output_that_is_full_is_told_with_a_loud_fault_too(loud):
    run = shlex.join((*RUN, "--steps", "1", "--json", "--fault-file", loud))
    status, _, error = redirected(run, ">/dev/full")
    assert status == 2
    assert "kvscope: standard output cannot be written (No space left on device)\n" in error


def test_a_reader_that_leaves_a_loud_run_is_no_traceback(loud):
    run = (*RUN, "--policy", "window", "--steps", "200", "--json", "--fault-file", loud)
    with started(*run) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert "Traceback" not in child.stderr.read()
        assert child.wait(timeout=100) == 130


@pytest.mark.skipif(sys.platform == "win32", reason="cmd cannot close a stream")
def test_a_loud_fault_needs_no_standard_error(loud):
    run = shlex.join((*RUN, "--steps", "1", "--json", "--fault-file", loud))
    status, out, _ = redirected(run, "2>&-")
    assert (status, [json.loads(line)["kind"] for line in out.splitlines()]) == (
        0,
        ["run", "step", "step", "end"],
    )


@pytest.mark.skipif(sys.platform == "win32", reason="cmd cannot close a stream")
@pytest.mark.parametrize("arguments", ["faults", "--info", shlex.join((*RUN, "--json"))])
def test_an_output_that_is_closed_has_status_2_and_one_line(arguments):
    status, _, error = redirected(arguments, ">&-")
    assert (status, error.count("\n")) == (2, 1)
    assert "standard output is closed" in error


@needs_full_disk
@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
def test_a_complaint_that_cannot_be_written_leaves_the_status_as_it_is(where):
    assert redirected("run --prompt ''", where) == (2, "", "")
    assert redirected(shlex.join((*RUN, "--json", "--steps", "1")), where)[0] == 0


@pytest.mark.parametrize("where", [pytest.param(">/dev/full", marks=needs_full_disk), "| true"])
def test_a_trace_is_written_whole_though_the_output_cannot_be(tmp_path, where):
    path = tmp_path / "run.kvtrace"
    run = shlex.join((*RUN, "--steps", "40", "--json", "--trace", str(path)))
    redirected(run, where)
    assert len(open_trace(path).recorded.digests) == 41


def test_a_reader_that_was_never_there_is_no_traceback():
    with started("faults") as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert (child.stderr.read(), child.wait(timeout=100)) == ("", 130)


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--help"],
        ["run", "--steps", "x"],
        ["export", "--help"],
        ["faults"],
        ["compare"],
        ["battery", "--help"],
        ["matrix", "--help"],
    ],
    ids=" ".join,
)
def test_help_lists_and_bad_arguments_import_neither_qt_nor_torch(arguments):
    code = (
        "import sys; from app.__main__ import main; main(sys.argv[1:]);"
        "print(sorted({'torch', 'PySide6', 'pyqtgraph'} & set(sys.modules)))"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_run_imports_no_qt():
    code = (
        "import sys; from app.__main__ import main; status = main(sys.argv[1:]);"
        "print(status, sorted({'PySide6', 'pyqtgraph'} & set(sys.modules)))"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, *RUN, "--steps", "1"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "0 []"
