"""What `kvscope run` looks at beside the verdicts."""

import json
import math

import pytest

from app import cli

TINY = ("run", "--model", "tiny-learned", "--prompt-ids", "84,104,101,32,107,105,116")
SMALL = (*TINY, "--capacity", "12", "--steps", "4")


@pytest.fixture(autouse=True)
def no_time_passes(monkeypatch):
    """However slow the machine is, a run does not become one that reports its progress."""
    monkeypatch.setattr("app.cli_progress.monotonic", lambda: 0.0)


@pytest.fixture
def told(capsys):
    """Runs the command; its status and what it prints."""

    def run(*arguments: str) -> tuple[int, str]:
        status = cli.main(arguments)
        captured = capsys.readouterr()
        assert captured.err == ""
        return status, captured.out

    return run


@pytest.fixture
def steps(told):
    """Runs the command with --json; its status and the lines of its steps."""

    def run(*arguments: str) -> tuple[int, list[dict]]:
        status, text = told(*arguments, "--json")
        lines = map(json.loads, text.splitlines())
        return status, [line for line in lines if line["kind"] == "step"]

    return run


def test_of_a_right_run_nothing_is_said_that_was_not_asked(told, steps):
    status, text = told(*SMALL, "--check")
    assert status == 0
    assert not {"Weight on rows", "Liveness", "Errors", "Largest errors"} & {
        line.split(":")[0] for line in text.splitlines()
    }
    _, lines = steps(*SMALL)
    assert [line["not_live"] for line in lines] == [[]] * 5
    assert not any("liveness" in line or "errors" in line for line in lines)


def test_weight_on_dead_rows_is_told_with_its_amount_state_and_place(told, steps):
    _, lines = steps(*SMALL, "--fault", "mask-unwritten")
    first = lines[0]["not_live"]
    assert [one["layer"] for one in first] == [0, 1, 2, 3]
    assert {one["state"] for one in first} == {"never written"}
    assert {tuple(one["rows"]) for one in first} == {(7, 8, 9, 10, 11)}
    largest = max(first, key=lambda one: one["amount"])
    assert largest["amount"] == max(largest["by_head"]) == largest["by_head"][largest["head"]]
    _, text = told(*SMALL, "--fault", "mask-unwritten")
    assert "Weight on rows that are not live: in 5 steps, first in step 0.\n" in text
    assert (
        f"  - {100 * largest['amount']:.3g} % on rows never written (layer {largest['layer']}, "
        f"head {largest['head']}; rows 7–11)\n"
    ) in text


def test_poison_leaves_a_right_run_as_it_is_and_is_named(told, steps):
    _, plain = steps(*SMALL)
    status, poisoned = steps(*SMALL, "--poison", "--check")
    assert status == 0
    assert poisoned == plain
    assert "dead rows poisoned" in told(*SMALL, "--poison")[1]
    assert "poisoned" not in told(*SMALL)[1]


def test_poison_makes_a_dead_row_that_is_read_show_as_no_number(steps):
    status, lines = steps(*SMALL, "--fault", "store-first-lost", "--poison", "--check")
    assert status == 1
    assert lines[0]["reference"]["max_abs_logit_error"] == "nan"
    assert lines[0]["not_live"][0]["amount"] == "nan"


def test_weight_that_is_no_number_is_said_to_be_none_and_told_of_the_first_layer(told):
    _, text = told(*SMALL, "--fault", "store-first-lost", "--poison")
    assert "  - weight that is no number on rows never written (layer 0, head 0; row 0)\n" in text
    assert "nan %" not in text


def test_liveness_is_told_of_the_steps_that_were_asked_for(told, steps):
    status, lines = steps(*SMALL, "--liveness", "2", "--check")
    assert status == 0
    assert [line["step"] for line in lines if "liveness" in line] == [2, 4]
    found = lines[2]["liveness"]
    assert (found["live"], found["tried"], found["dead"]) == (8, 8, 4)
    assert (found["blind"], found["leaks"], found["skipped"]) == ([], [], None)
    assert found["forwards"] >= 4 * 8
    _, text = told(*SMALL, "--liveness", "2")
    assert "Liveness: in 2 steps every live row that was changed changes the logits" in text


def test_blind_and_leaking_rows_are_told_with_their_layers(told, steps):
    _, text = told(*SMALL, "--fault", "mask-top-left", "--liveness", "1")
    assert "Liveness: wrong in 4 of 4 steps tried (" in text
    assert "  - step 1 is blind to tokens 1–6 in layers 0–3\n" in text
    _, text = told(*SMALL, "--fault", "mask-unwritten:layers=1,3", "--liveness", "1")
    assert "  - step 1 changes with rows 8–11, never written, in layers 1, 3\n" in text
    _, lines = steps(*SMALL, "--fault", "mask-top-left", "--liveness", "1")
    assert lines[1]["liveness"]["blind"][0] == {"layer": 0, "token_index": 1, "row": 1}


def test_steps_that_cannot_be_tried_are_told(told):
    _, text = told(*SMALL, "--liveness", "9")
    assert "Liveness: no decode step has a number that 9 divides, so none was tried.\n" in text
    _, text = told(*SMALL, "--fault", "store-write-lost", "--poison", "--liveness", "1")
    assert "  - step 1 was not tried: its logits are no numbers\n" in text


def test_the_lines_are_the_same_with_and_without_liveness(steps):
    plain = steps(*SMALL, "--fault", "store-alias-in")[1]
    tried = steps(*SMALL, "--fault", "store-alias-in", "--liveness", "1")[1]
    for mine, other in zip(tried, plain, strict=True):
        mine.pop("liveness", None)
        # Judged in other batches, the reference itself is rounded otherwise.
        numbers, others = mine.pop("reference"), other.pop("reference")
        assert numbers == pytest.approx(others, rel=1e-9)
        assert mine == other


def test_the_table_of_errors_is_of_the_first_wrong_step_or_of_the_one_named(told, steps):
    _, text = told(*SMALL, "--fault", "pos-restart", "--errors")
    assert "Largest errors in step 1, by layer" in text
    _, text = told(*SMALL, "--errors", "3")
    assert "Largest errors in step 3, by layer" in text
    _, lines = steps(*SMALL, "--errors", "3")
    assert [line["step"] for line in lines if "errors" in line] == [3]
    errors = lines[3]["errors"]
    assert list(errors) == [
        "keys", "values", "rotated_keys", "scores", "weights", "output", "residual", "logits",
    ]  # fmt: skip
    assert all(0 <= e <= b for e, b in zip(*list(errors["keys"].values())[:2], strict=True))
    assert errors["logits"]["error"] == lines[3]["reference"]["max_abs_logit_error"]
    assert math.isfinite(errors["logits"]["band"])


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--errors",), "Errors: no step is wrong; --errors N shows those of step N."),
        (("--errors", "6", "--steps", "6"), "Errors: step 6 has nothing that could be compared."),
    ],
    ids=["nothing wrong", "refused"],
)
def test_a_table_that_cannot_be_made_is_explained(told, options, line):
    assert f"{line}\n" in told(*SMALL, *options)[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--liveness", "0"), "'0' is below 1"),
        (("--liveness", "x"), "'x' is no whole number"),
        (("--errors=-1",), "'-1' is below 0, the first step"),
        (("--errors", "first"), "'first' is no whole number"),
        (("--errors", "5"), "--errors 5: the run has 5 steps; give one from 0 to 4"),
        (("--errors", "1", "--steps", "0"), "--errors 1: the run has 1 step; that is step 0"),
    ],
    ids=["never", "no number", "before the first", "a word", "past the end", "past the only one"],
)
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_a_step_that_cannot_be_is_refused_before_anything_is_run(capsys, options, message, form):
    assert cli.main((*SMALL, *options, *form)) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_a_step_that_a_run_does_not_reach_is_unusable_once_that_is_known(capsys, tmp_path):
    """Step 6 is refused, and a run ends with the step that is refused."""
    path = tmp_path / "run.kvtrace"
    long = (*SMALL, "--steps", "20")
    assert cli.main((*long, "--errors", "15", "--trace", str(path))) == 2
    captured = capsys.readouterr()
    assert captured.err == "kvscope: --errors 15: the run has 7 steps; give one from 0 to 6\n"
    assert "Errors: step 15 was not reached.\n" in captured.out
    assert path.exists()
    assert cli.main((*long, "--errors", "6")) == 0


def test_a_finding_fails_a_check(told):
    assert told(*SMALL, "--fault", "mask-top-left", "--liveness", "1", "--check")[0] == 1
    assert told(*SMALL, "--fault", "mask-top-left", "--liveness", "1")[0] == 0
