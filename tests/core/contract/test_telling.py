"""The process that checks for the window: what it tells, and that it ends when it is left."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import core.contract
from core.contract.check import check
from core.contract.own_report import OwnReport
from core.contract.plan import plan_for
from core.contract.report import LIKE
from core.contract.subject import Source
from core.faults.catalog import FAULTS

HELPERS = Path(__file__).parents[2] / "helpers"
INTERVIEW = HELPERS / "caches" / "interview.py"
START = Path(core.contract.__file__).with_name("telling_start.py")
PATIENCE_S = 60.0


def started(path, name="KVCache", kind="class", **more):
    ask = {"kind": kind, "path": str(path), "name": name, "adapter": None}
    usual = {"args": {}, "declared": [], "vocab": None, "prompt": [], "reference": None}
    process = subprocess.Popen(  # noqa: S603  (our own file)
        [sys.executable, "-P", str(START)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps({**ask, **usual, **more}).encode() + b"\n")
    process.stdin.flush()
    return process


def told(*asked, **more):
    """Everything that is told; the process must end by itself, and print nothing else."""
    process = started(*asked, **more)
    assert process.stdout is not None
    lines = [json.loads(line) for line in process.stdout]
    assert process.wait(PATIENCE_S) == 0
    assert process.stderr.read() == b""
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()
    return lines


def test_the_report_has_the_states_of_the_check_and_each_rule_was_told_before(subjects):
    lines = told(INTERVIEW)
    report = OwnReport.of_json(lines[-1]["report"])
    subject = subjects.turned_to(Source(INTERVIEW, "KVCache"))
    verdicts = check(subject, plan_for(subject, frozenset()))
    assert [(row.number, row.state, row.root) for row in report.rows] == [
        (verdict.rule, verdict.state, verdict.root) for verdict in verdicts
    ]
    assert [row.number for row in report.findings] == [4, 9, 11]
    rows = {line["row"]["number"] for line in lines if "row" in line}
    assert rows == {verdict.rule for verdict in verdicts}
    assert [number for number, _ in lines[0]["waiting"]] == list(range(1, 41))
    assert "def test_rule_9_" in (report.tests or "")


def test_a_row_names_the_methods_that_its_sequence_calls_the_broken_one_first():
    report = OwnReport.of_json(told(INTERVIEW)[-1]["report"])
    methods = {row.number: row.methods for row in report.findings}
    assert methods == {4: ("keys", "values"), 9: ("append",), 11: ("n", "append")}


def test_a_model_is_told_by_what_it_does_wrong():
    lines = told(HELPERS / "models" / "nano.py", "both", kind="model")
    report = OwnReport.of_json(lines[-1]["report"])
    assert [row.preset for row in report.findings] == ["pos-restart", "mask-top-left"]
    assert {row.state for row in report.rows} == {"wrong"}
    assert [line["n_done"] for line in lines if "n_done" in line] == list(
        range(1, len(report.rows) + 1)
    )


def test_what_cannot_be_driven_is_told_by_name(tmp_path):
    path = tmp_path / "odd.py"
    path.write_text("class Odd:\n    pass\n", "utf-8")
    assert "Odd" in told(path, "Odd")[-1]["cannot"]


def test_every_fault_that_a_finding_is_likened_to_exists():
    assert set(LIKE.values()) <= {fault.id for fault in FAULTS}


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no groups of processes here")
def test_when_nobody_listens_any_more_the_users_process_ends_too(tmp_path):
    held = tmp_path / "held-open"
    path = tmp_path / "hangs.py"
    os.mkfifo(held)
    path.write_text(
        f"file = open({str(held)!r}, 'w')\nprint('runs', file=file, flush=True)\n"
        "while True:\n    pass\n",
        "utf-8",
    )
    process = started(path)
    with held.open("r") as file:
        assert file.readline() == "runs\n"
        process.stdin.close()
        assert file.read() == ""  # its end comes once nobody holds it open
    assert process.wait(PATIENCE_S) != 0
    for stream in (process.stdout, process.stderr):
        stream.close()
