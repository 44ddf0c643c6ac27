from pathlib import Path

import numpy as np
import pytest

from app import cli
from app.__main__ import main
from core.foreign.example_writer import write_trace
from core.model.loading import load_model
from core.spec import RunSpec
from core.tracefile import save_trace
from resources import resource_path
from tests.helpers.runs import judged, run, spec_for


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def written(name="a.kvtrace", token_ids=(3, 1, 2, 0), logits=((0, 0, 1, 0), (1, 0, 0, 0)), **more):
    write_trace(name, list(token_ids), np.array(logits, float), {"engine": "toy 1.0"}, **more)
    return name


def test_a_trace_of_token_ids_and_logits_is_fine(capsys):
    assert main(["validate", written()]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "a.kvtrace: well formed, a trace from elsewhere",
        "  by toy 1.0, in float32: 4 tokens in 2 calls, 4 token ids",
        "  has token_ids, logits",
    ]
    assert lines[-1] == "  verdict: none, there is no reference"


def test_one_whose_parts_do_not_fit_is_1_with_a_line_for_each(capsys):
    written(token_ids=(3, 9, 2, 0), cache_length=[1])
    assert cli.main(["validate", "a.kvtrace"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "kvscope: a.kvtrace: cache_length has 1 numbers for 2 calls; give one per call",
        "kvscope: a.kvtrace: token_ids[1] is 9, outside the vocabulary: logits have 4 columns, so "
        "ids go from 0 to 3",
    ]


@pytest.mark.parametrize("content", [b"", b"no trace", b"\x08\0\0\0\0\0\0\0{}      "])
def test_a_broken_file_is_2_with_one_line_that_names_it(content, capsys):
    Path("a.kvtrace").write_bytes(content)
    assert cli.main(["validate", "a.kvtrace"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("kvscope: a.kvtrace: ")
    assert len(told.err.splitlines()) == 1


@pytest.mark.parametrize("full", [True, False])
def test_a_run_of_ours_is_fine_and_says_what_it_holds(full, capsys):
    found = judged(spec_for("rope", prompt_ids=(1, 2, 3), steps=2))
    save_trace(Path("own.kvtrace"), found.trace, full=full, verdicts=found.verdicts)
    assert cli.main(["validate", "own.kvtrace"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "own.kvtrace: well formed, a trace of a run of kvscope"
    assert lines[1].endswith("float64, policy refuse: 3 steps")
    assert lines[2].startswith("  full: " if full else "  small: ")
    assert lines[3] == (
        "  verdict: on 3 steps; 0 wrong"
        if full
        else "  verdict: comes with the run, when it is made again"
    )


def test_a_run_of_ours_that_was_damaged_is_2(capsys):
    path = Path("own.kvtrace")
    save_trace(path, run(spec_for("rope", prompt_ids=(1, 2), steps=0)), full=True)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert cli.main(["validate", "own.kvtrace"]) == 2
    assert "own.kvtrace: its checksum does not fit" in capsys.readouterr().err


def test_what_needs_a_run_of_ours_says_what_a_trace_from_elsewhere_is_good_for(capsys):
    written()
    assert cli.main(["export", "a.kvtrace", "--out", "a.npz"]) == 2
    assert "a.kvtrace: is a trace from elsewhere, of token ids and logits: kvscope FILE shows" in (
        capsys.readouterr().err
    )
    assert not Path("a.npz").exists()


# compare


def compared(*arguments: str) -> int:
    return cli.main(["compare", *arguments])


def test_two_traces_from_elsewhere_are_compared_call_by_call(capsys):
    written("a.kvtrace")
    written("b.kvtrace", logits=((0, 0, 1, 0), (1, 0, 0, 2)))
    assert compared("a.kvtrace", "a.kvtrace", "--check") == 0
    assert capsys.readouterr().out.splitlines() == [
        "equal: 2 steps",
        "logits compared after 2 texts; they count as equal within 3.1e-05 times the largest or 1, "
        "what rounding does in float32",
    ]
    assert compared("a.kvtrace", "b.kvtrace", "--check") == 1
    assert capsys.readouterr().out.splitlines()[:3] == [
        "first difference: step 1, logits",
        "  A: 0 for token id 3, the largest difference",
        "  B: 2",
    ]
    assert compared("a.kvtrace", "b.kvtrace") == 0


def test_a_trace_from_elsewhere_is_compared_with_a_run_of_ours(capsys):
    own = run(spec_for("rope", prompt_ids=(1, 2, 3), steps=2, dtype="float32"))
    save_trace(Path("own.kvtrace"), own, full=True)
    rows = [record.logits for record in own.records]
    ids = [token for record in own.records for token in record.token_ids]
    written("same.kvtrace", ids, rows)
    written("other.kvtrace", [*ids[:-1], (ids[-1] + 1) % 256], rows)
    for pair in (("own.kvtrace", "same.kvtrace"), ("same.kvtrace", "own.kvtrace")):
        assert compared(*pair, "--check") == 0
        assert capsys.readouterr().out.startswith("equal: 3 steps\n")
    assert compared("own.kvtrace", "other.kvtrace", "--check") == 1
    assert capsys.readouterr().out.startswith("first difference: step 2, token_ids\n")


def test_one_whose_parts_do_not_fit_is_not_compared(capsys):
    written("a.kvtrace")
    written("b.kvtrace", token_ids=(3, 9, 2, 0))
    assert compared("a.kvtrace", "b.kvtrace") == 2
    assert "b.kvtrace: token_ids[1] is 9, outside" in capsys.readouterr().err


# --reference


FOLDER = str(resource_path("models", "learned"))


def of_the_learned_model(off=0.0):
    spec = RunSpec("learned", prompt_ids=(1, 2, 3), steps=2, dtype="float32")
    own = run(spec, load_model("learned"))
    rows = np.stack([record.logits for record in own.records])
    rows[2] += off
    ids = [token for record in own.records for token in record.token_ids]
    return written("a.kvtrace", ids, rows)


def test_a_checkpoint_judges_a_trace_of_token_ids_and_logits_alone(capsys):
    arguments = ["validate", of_the_learned_model(), "--reference", FOLDER]
    assert cli.main(arguments) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith(f"  by kvscope's reference for {FOLDER}: verdict on logits: right 3, ")


def test_logits_that_a_checkpoint_finds_wrong_are_1(capsys):
    arguments = ["validate", of_the_learned_model(0.01), "--reference", FOLDER]
    assert cli.main(arguments) == 1
    assert "first wrong: call 2 (token 4), error 0.01" in capsys.readouterr().out


def test_a_checkpoint_of_another_vocabulary_is_named_with_both_numbers(capsys):
    arguments = ["validate", written(), "--reference", FOLDER]
    assert cli.main(arguments) == 2
    said = capsys.readouterr().err
    assert "learned: has 450 logits a token, the trace 4; give the folder of the model" in said


def test_a_checkpoint_that_is_not_there_is_named(capsys):
    assert cli.main(["validate", written(), "--reference", "nowhere"]) == 2
    assert "nowhere: there is no such folder" in capsys.readouterr().err


def test_a_run_of_ours_takes_no_reference(capsys):
    save_trace(Path("own.kvtrace"), run(spec_for("rope", prompt_ids=(1, 2), steps=0)), full=True)
    assert cli.main(["validate", "own.kvtrace", "--reference", FOLDER]) == 2
    assert "--reference is for traces from elsewhere; own.kvtrace" in capsys.readouterr().err
