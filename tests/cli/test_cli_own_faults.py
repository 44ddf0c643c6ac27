"""`--fault-file`: faults of one's own on the command line."""

import json

import pytest

from app import cli
from core.faults.catalog import COMBINATIONS, FAULTS
from core.faults.fault_files import load_fault_file
from core.faults.known import BUILT_IN
from core.model.loading import load_model
from core.session import Session
from core.spec import RunSpec
from core.tracefile import open_trace, save_trace

ONE = 'OwnFault(id="{id}", title="{id} is on", seam="{seam}", function={function})'
TEXT = """\
import numpy as np

from core.faults.own import OwnFault


def wrong(past_len, n_new, ledger):
    return {answer}


FAULTS = ({faults},)
"""
TINY = ("run", "--model", "tiny-learned", "--prompt", "hello", "--steps", "3")


@pytest.fixture(autouse=True)
def no_time_passes(monkeypatch):
    """However slow the machine is, a run does not become one that reports its progress."""
    monkeypatch.setattr("app.cli_progress.monotonic", lambda: 0.0)


def file(tmp_path, answer="np.arange(n_new)", faults=None, name="my_fault.py"):
    path = tmp_path / name
    faults = faults or ONE.format(id="mine", seam="position_ids", function="wrong")
    path.write_text(TEXT.format(answer=answer, faults=faults), "utf-8")
    return str(path)


def uses(capsys, *arguments: str) -> list[tuple]:
    assert cli.main([*arguments, "--json"]) == 0
    spec = json.loads(capsys.readouterr().out.splitlines()[0])["spec"]
    return [(use["id"], use["first_step"], use["last_step"]) for use in spec["faults"]]


def test_the_fault_of_a_file_is_switched_on(capsys, tmp_path):
    assert uses(capsys, *TINY, "--fault-file", file(tmp_path)) == [("mine", 0, None)]


def test_without_a_prompt_its_scenario_is_loaded(capsys, tmp_path):
    assert cli.main(["run", "--fault-file", file(tmp_path)]) == 0
    account = capsys.readouterr().out
    assert "Mia outside. Sam inside. Where" in account
    assert "fault      mine (my_fault.py): mine is on" in account
    assert "First wrong step: 1 (decode)" in account


def test_a_fault_of_a_file_is_named_with_its_steps(capsys, tmp_path):
    found = uses(
        capsys, *TINY, "--fault", "mine@2-3", "--fault", "cap-early", "--fault-file", file(tmp_path)
    )
    assert found == [("mine", 2, 3), ("cap-early", 0, None)]


def test_of_a_file_with_several_only_those_that_are_named_are_on(capsys, tmp_path):
    both = ", ".join(
        (
            ONE.format(id="mine", seam="position_ids", function="wrong"),
            ONE.format(id="other", seam="overflow", function="lambda ledger, n: 0"),
        )
    )
    path = file(tmp_path, faults=both)
    assert [u[0] for u in uses(capsys, *TINY, "--fault-file", path)] == ["mine", "other"]
    assert [u[0] for u in uses(capsys, *TINY, "--fault", "other", "--fault-file", path)] == [
        "other"
    ]


def test_the_list_of_faults_has_it_too(capsys, tmp_path):
    assert cli.main(["faults", "--json", "--fault-file", file(tmp_path)]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == len(FAULTS) + len(COMBINATIONS) + 1
    assert (lines[-1]["kind"], lines[-1]["id"], lines[-1]["seam"]) == (
        "own fault",
        "mine",
        "position_ids",
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--fault", "nine"), "fault 'nine' is not known; of your own there are mine"),
        (("--fault", "pos-restart"), "both replace the seam position_ids"),
        (("--fault-file", "none.py"), "none.py cannot be read"),
    ],
    ids=["unknown", "two on a seam", "no file"],
)
def test_what_cannot_be_used_ends_with_status_2_and_one_line(capsys, tmp_path, arguments, told):
    assert cli.main([*TINY, "--fault-file", file(tmp_path), *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert told in captured.err
    assert captured.err.count("\n") == 1


def test_a_function_that_fails_ends_the_run_with_status_2_and_writes_no_trace(capsys, tmp_path):
    trace = tmp_path / "a.kvtrace"
    path = file(tmp_path, answer="np.arange(n_new) / (past_len - 6)")
    assert cli.main([*TINY, "--fault-file", path, "--trace", str(trace)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "my_fault.py, line 6: the seam position_ids must answer" in captured.err
    assert not trace.exists()


def small_trace(tmp_path, path):
    known = BUILT_IN.with_file(load_fault_file(path))
    spec = RunSpec("tiny-learned", (1, 2, 3), steps=2, faults=(known.use("mine"),))
    trace = Session(spec, load_model("tiny-learned"), known=known).run()
    save_trace(tmp_path / "small.kvtrace", trace, full=False)
    return str(tmp_path / "small.kvtrace")


def test_a_small_trace_needs_the_file_and_never_runs_it_by_itself(capsys, tmp_path):
    path = tmp_path / "my_fault.py"
    file(tmp_path)
    trace = small_trace(tmp_path, path)
    out = ("export", trace, "--out", str(tmp_path / "a.npz"))
    assert cli.main(out) == 2
    told = capsys.readouterr().err
    assert "this run used the fault 'mine' from 'my_fault.py', which is not loaded" in told
    assert "--fault-file" in told
    assert not (tmp_path / "a.npz").exists()
    assert cli.main([*out, "--fault-file", str(path)]) == 0
    assert cli.main(["compare", trace, trace, "--fault-file", str(path), "--check"]) == 0


def test_a_full_trace_needs_no_file(capsys, tmp_path):
    trace = tmp_path / "full.kvtrace"
    assert cli.main([*TINY, "--fault-file", file(tmp_path), "--trace", str(trace)]) == 0
    assert open_trace(trace).trace is not None
    assert cli.main(["export", str(trace), "--out", str(tmp_path / "a.npz")]) == 0
    capsys.readouterr()


def test_what_a_fault_prints_is_kept_out_of_the_json(capsys, tmp_path):
    path = file(tmp_path, answer='(print("asked"), np.arange(n_new))[1]')
    assert cli.main([*TINY, "--fault-file", path, "--json"]) == 0
    captured = capsys.readouterr()
    assert [json.loads(line)["kind"] for line in captured.out.splitlines()][-1] == "end"
    assert "asked\n" in captured.err
