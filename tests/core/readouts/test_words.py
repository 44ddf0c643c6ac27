import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from core.outcome import OK, Outcome, PositionLimit, Refused
from core.readouts.words import compared_outcome, outcome_words, ranges


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((), ""),
        ((4,), "4"),
        ((4, 5), "4, 5"),
        ((0, 3, 4, 5, 6, 7), "0, 3–7"),
        ((1, 2, 3, 9, 11, 12, 13), "1–3, 9, 11–13"),
    ],
)
def test_three_or_more_in_a_row_are_a_range(numbers: tuple[int, ...], words: str) -> None:
    assert ranges(numbers) == words


def step(phase: str, outcome: Outcome = OK, n_probed: tuple[int, int] = (0, 0)) -> Any:
    """What is asked of a record."""
    ledger = SimpleNamespace(capacity=12)
    return SimpleNamespace(phase=phase, outcome=outcome, n_probed=n_probed, ledger=ledger)


@pytest.mark.parametrize(
    ("outcome", "record", "words"),
    [
        (Refused(2, 1), step("decode"), "refused: needs 2, 1 free of 12"),
        (Refused(3, 1), step("rollback"), "refused: needs 3, 1 still held"),
        (Refused(2, 1), step("probe", n_probed=(2, 2)), "refused: needs 2, 1 free of 12"),
        (Refused(2, 4), step("probe", n_probed=(2, 1)), "refused: 2 keys and 1 value"),
        (PositionLimit(256), step("decode"), "ended: the model has 256 positions"),
    ],
    ids=["decode", "rollback", "probe", "uneven probe", "positions"],
)
def test_an_ending_is_told_with_the_numbers_that_it_comes_from(
    outcome: Outcome, record: Any, words: str
) -> None:
    assert outcome_words(outcome, record) == words


def test_an_outcome_that_is_right_or_pending_stands_alone() -> None:
    assert compared_outcome(step("decode"), OK) == "accepted"
    assert compared_outcome(step("decode"), None) == "accepted"


def test_a_wrong_outcome_stands_before_the_right_one() -> None:
    words = compared_outcome(step("decode"), Refused(1, 0))
    assert words == "accepted; should be refused: needs 1, 0 free of 12"


def test_readouts_load_without_torch_and_without_qt() -> None:
    names = ("tokens", "cache", "mask", "attention", "timeline")
    imports = "; ".join(f"import core.readouts.{name}" for name in names)
    check = "import sys; print([m for m in ('torch', 'PySide6') if m in sys.modules])"
    done = subprocess.run(  # noqa: S603  (our own words)
        [sys.executable, "-c", f"{imports}; {check}"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
