"""`kvscope matrix` as a person calls it."""

import csv
import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as Xml
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress

import pytest

from app import cli_matrix
from app.cli import main
from app.interruptions import heard_as_ctrl_c
from core.matrix import measured
from core.matrix_file import read_matrix

FEW = (
    "matrix", "--prompts", "1", "--model", "tiny-rope", "--fault", "pos-restart",
    "--fault", "spec-short", "--policy", "refuse", "--policy", "window",
)  # fmt: skip


def test_the_table_has_a_line_for_each_fault_and_a_column_for_each_policy(capsys):
    assert main(FEW) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3].split() == ["fault", "refuse", "window"]
    assert lines[-2].startswith("pos-restart  1 · ")
    assert lines[-1].split()[-1] == "–"


def test_csv_markdown_and_picture_hold_the_same_cells(capsys, tmp_path):
    csv_path, markdown, picture = (tmp_path / name for name in ("m.csv", "m.md", "m.svg"))
    options = ["--csv", csv_path, "--markdown", markdown, "--picture", picture, "--json"]
    assert main([*FEW, *map(str, options)]) == 0
    cells = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    rows = list(csv.DictReader(csv_path.read_text(encoding="utf-8").splitlines()))
    assert [row["first_wrong_step"] for row in rows] == [
        "" if cell["first_wrong_step"] is None else str(cell["first_wrong_step"]) for cell in cells
    ]
    assert "| pos-restart | 1 · " in markdown.read_text(encoding="utf-8")
    titles = [
        element.text
        for element in Xml.parse(picture).iter("{http://www.w3.org/2000/svg}title")  # noqa: S314
    ]
    assert [title.split(":")[0] for title in titles] == [
        f"{cell['fault']}, {cell['model']}, {cell['policy']}" for cell in cells
    ]


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_gives_the_same_table(
    capsys, tmp_path, monkeypatch
):
    path = tmp_path / "cells.jsonl"
    assert main(FEW) == 0
    whole = capsys.readouterr().out
    n_left = 2

    def interrupted(task):
        nonlocal n_left
        if n_left == 0:
            raise KeyboardInterrupt
        n_left -= 1
        return measured(task)

    monkeypatch.setattr(cli_matrix, "measured", interrupted)
    assert main([*FEW, "--resume", str(path)]) == 130
    stopped = capsys.readouterr()
    assert "stopped after 2 of 4 cells" in stopped.err
    assert str(path) in stopped.err
    assert stopped.out == ""
    assert len(path.read_text().splitlines()) == 4  # the head, the prompts, two cells
    n_left = 2
    assert main([*FEW, "--resume", str(path)]) == 0
    assert capsys.readouterr().out == whole
    assert main([*FEW, "--resume", str(path)]) == 0  # nothing is measured: n_left is 0
    assert capsys.readouterr().out == whole


def test_a_line_that_was_cut_off_is_measured_again(capsys, tmp_path):
    path = tmp_path / "cells.jsonl"
    assert main([*FEW, "--resume", str(path)]) == 0
    whole = capsys.readouterr().out
    text = path.read_text()
    path.write_text(text[: len(text) - 30])
    assert main([*FEW, "--resume", str(path)]) == 0
    assert capsys.readouterr().out == whole
    assert sorted(path.read_text().splitlines()) == sorted(text.splitlines())


def test_processes_give_the_same_table(capsys):
    assert main(FEW) == 0
    alone = capsys.readouterr().out
    assert main([*FEW, "--jobs", "2"]) == 0
    assert capsys.readouterr().out == alone


needs_blocking = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows cannot block Ctrl+C for a process that begins"
)


class Interrupted:
    """Sends Ctrl+C to the process in which it is unpickled, while that is still being set up."""

    def __call__(self):
        """A pool wants something that it can call."""

    def __reduce__(self):
        return signal.raise_signal, (signal.SIGINT,)


@needs_blocking
@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_a_process_that_is_still_being_set_up_leaves_ctrl_c_to_its_parent(capfd, monkeypatch):
    monkeypatch.setattr(cli_matrix, "_leave_ctrl_c", Interrupted())
    assert main([*FEW, "--jobs", "2"]) == 0
    assert "Traceback" not in capfd.readouterr().err


@needs_blocking
@pytest.mark.usefixtures("ctrl_c_is_heard")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_request_to_end_while_processes_are_started_is_heard_once_they_are(
    capfd, monkeypatch, name
):
    submit = ProcessPoolExecutor.submit
    n_submitted = 0

    def interrupted(pool, function, task):
        nonlocal n_submitted
        signal.raise_signal(getattr(signal, name))
        n_submitted += 1
        return submit(pool, function, task)

    monkeypatch.setattr(ProcessPoolExecutor, "submit", interrupted)
    with heard_as_ctrl_c():
        assert main([*FEW, "--jobs", "2"]) == 130
    error = capfd.readouterr().err
    assert n_submitted == 4
    assert "stopped after 0 of 4 cells" in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--fault", "no-such"], "fault 'no-such' is not known"),
        (["--fault", "pos-restart@2"], "leave @2 out: --fault pos-restart"),
        (["--fault", "mask-top-left:layers=1"], "leave :layers=1 out: --fault mask-top-left"),
        (["--fault", "mask-top-left@1-2:layers=1"], "leave @1-2:layers=1 out"),
        (["--model", "no-such"], "model 'no-such' is neither"),
        (["--prompts", "0"], "'0' is below 1"),
        (["--jobs", "x"], "'x' is no whole number"),
        (["--picture", "m.png"], "give a name with .svg"),
        (["--csv", "/no/such/folder/m.csv"], "/no/such/folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_used_has_status_2_and_one_line(options, said, capsys):
    assert main([*FEW, *options]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing\n", "give a file that kvscope matrix --resume FILE wrote, or a new name"),
        ('{"kind": "run"}\n', "is no file of a matrix"),
        ('{"kind": "matrix", "schema": 4, "prompts": 9, "seed": 0}\n', "prompts 9, not 1"),
        (
            '{"kind": "matrix", "schema": 4, "prompts": 1, "seed": 0}\n{"kind": "cell"}\n',
            "line 2 is no cell",
        ),
        ('{"kind": "matrix", "schema": 1, "prompts": 1, "seed": 0}\n', "schema 1, not 4"),
    ],
    ids=["no JSON", "another file", "other prompts", "no cell", "another schema"],
)
def test_another_file_is_not_taken_up(text, said, capsys, tmp_path):
    path = tmp_path / "cells.jsonl"
    path.write_text(text)
    assert main([*FEW, "--resume", str(path)]) == 2
    assert said in capsys.readouterr().err
    assert path.read_text() == text


OWN = '''\
"""A chunk of a prompt does not see the chunks before it."""

from core.faults.own import OwnFault


def own_chunk(query, key, readable):
    return readable & (key <= query[:, None]) & ((key >= query[0]) | (len(query) == 1))


FAULT = OwnFault(id="blind-chunk", title="Blind", seam="causal_mask", function=own_chunk)
'''


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_fault_of_ones_own_is_measured_alone_and_by_processes(capsys, tmp_path, jobs):
    own = tmp_path / "blind.py"
    own.write_text(OWN, encoding="utf-8")
    options = ("--prompts", "1", "--policy", "refuse", "--policy", "window", "--json")
    model = ("--model", "tiny-rope", "--jobs", jobs, "--fault-file", str(own))
    assert main(["matrix", *options, *model]) == 0
    cells = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [cell["fault"] for cell in cells] == ["blind-chunk"] * 2
    assert all(cell["why_not"] is None for cell in cells)


def test_cells_of_a_file_that_can_change_are_not_kept(capsys, tmp_path):
    own, kept = tmp_path / "blind.py", tmp_path / "kept.jsonl"
    own.write_text(OWN, encoding="utf-8")
    assert main([*FEW, "--fault-file", str(own), "--resume", str(kept)]) == 2
    assert "leave --resume out" in capsys.readouterr().err
    assert not kept.exists()


BROKEN = """\
from core.faults.own import OwnFault


def raises(past_len, n_new, ledger):
    raise ValueError("no such table")


FAULT = OwnFault(id="raises", title="Raises", seam="position_ids", function=raises)
"""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_fault_that_raises_has_its_sign_one_line_and_status_2_and_the_others_are_measured(
    capsys, tmp_path, jobs
):
    own = tmp_path / "raises.py"
    own.write_text(BROKEN, encoding="utf-8")
    assert main([*FEW, "--fault", "raises", "--fault-file", str(own), "--jobs", jobs]) == 2
    said = capsys.readouterr()
    rows = {line.split()[0]: line.split()[1:] for line in said.out.splitlines()[-3:]}
    assert rows["raises"] == ["!", "!"]
    assert rows["pos-restart"][0] == "1"
    assert said.err.splitlines()[-1] == (
        "kvscope: raises: 2 cells not measured: raises.py, line 5: the function for the seam "
        "position_ids raised ValueError: no such table"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.usefixtures("ctrl_c_is_heard")
@pytest.mark.parametrize(
    ("name", "is_sent_to_all"),
    [("SIGINT", False), ("SIGINT", True), ("SIGTERM", False), ("SIGTERM", True), ("SIGHUP", True)],
    ids=["kill -INT", "Ctrl+C", "kill", "a service that is stopped", "a terminal that is closed"],
)
def test_a_request_to_end_leaves_no_process_and_keeps_what_is_measured(
    tmp_path, name, is_sent_to_all
):
    kept = tmp_path / "cells.jsonl"
    many = ("matrix", "--prompts", "2", "--model", "tiny-rope", "--jobs", "2")
    with subprocess.Popen(  # noqa: S603  (our own interpreter and code)
        [sys.executable, "-m", "app", *many, "--resume", str(kept)],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    ) as child:  # fmt: skip
        assert child.stderr is not None
        child.stderr.readline()  # a cell is done
        send = os.killpg if is_sent_to_all else os.kill
        send(child.pid, getattr(signal, name))
        try:
            # Its processes have its streams: they end with the last one of them.
            out, error = child.communicate(timeout=100)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
    assert (child.returncode, out) == (130, "")
    assert "the same command goes on" in error.splitlines()[-1]
    assert "Traceback" not in error
    assert read_matrix(kept).cells != ()
