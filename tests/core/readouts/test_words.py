import subprocess
import sys

import pytest

from core.outcome import OK, PositionLimit, Refused
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


def test_a_refused_rollback_counts_rows_that_are_still_held() -> None:
    assert outcome_words(Refused(3, 1), "rollback", 12) == "refused: needs 3, 1 still held"


def test_the_end_of_the_position_table_is_no_refusal() -> None:
    assert outcome_words(PositionLimit(256), "decode", 12) == "ended: the model has 256 positions"


def test_an_outcome_that_is_right_or_pending_stands_alone() -> None:
    assert compared_outcome(OK, OK, "decode", 12) == "accepted"
    assert compared_outcome(OK, None, "decode", 12) == "accepted"


def test_readouts_load_without_torch_and_without_qt() -> None:
    names = ("tokens", "cache", "mask", "attention", "timeline")
    imports = "; ".join(f"import core.readouts.{name}" for name in names)
    check = "import sys; print([m for m in ('torch', 'PySide6') if m in sys.modules])"
    done = subprocess.run(  # noqa: S603  (our own words)
        [sys.executable, "-c", f"{imports}; {check}"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
