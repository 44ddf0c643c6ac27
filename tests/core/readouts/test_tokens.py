from collections.abc import Iterable
from dataclasses import replace

from core.readouts.tokens import TokenCell, tokens_readout
from tests.core.readouts.runs import (
    CHUNKED,
    FORCED,
    FULL,
    NEW_TEXT,
    PLAIN,
    PROMPT_IDS,
    ROLLED_BACK,
    pending_view_of,
    view_of,
    with_fault,
)


def ids(cells: Iterable[TokenCell]) -> list[int | None]:
    return [cell.token_id for cell in cells]


def test_this_run_is_the_prompt_the_tokens_read_and_the_next_one() -> None:
    view = view_of(PLAIN, 2)
    first, second, third = (view.records[step].next_token for step in range(3))
    run = list(tokens_readout(view).run)
    assert ids(run) == [*PROMPT_IDS, first, second, third]
    assert [cell.token_index for cell in run] == list(range(10))
    assert [cell.state for cell in run] == ["read"] * 9 + ["next"]
    assert [cell.is_prompt for cell in run] == [True] * 7 + [False] * 3
    assert [cell.step for cell in run] == [0] * 7 + [1, 2, 2]


def test_the_columns_read_in_the_step_are_marked() -> None:
    assert tokens_readout(view_of(PLAIN, 0)).read_now == (0, 6)
    assert tokens_readout(view_of(PLAIN, 2)).read_now == (8, 8)
    assert tokens_readout(view_of(FULL, 6)).read_now is None


def test_the_right_row_is_the_reference_for_this_same_text() -> None:
    view = view_of(with_fault(PLAIN, "mask-top-left"), 3)
    readout = tokens_readout(view)
    expected = [view.verdicts[step].logits.reference_token for step in range(4)]
    assert [cell.token_index for cell in readout.right] == [7, 8, 9, 10]
    assert ids(readout.right) == expected
    for cell, right in zip(list(readout.run)[7:], readout.right, strict=True):
        assert cell.is_wrong == (cell.token_id != right.token_id)
    assert any(cell.is_wrong for cell in readout.run)


def test_a_right_run_has_no_wrong_token() -> None:
    readout = tokens_readout(view_of(PLAIN, 5))
    assert not any(cell.is_wrong for cell in readout.run)
    assert ids(readout.right) == ids(readout.run)[7:]


def test_the_clean_run_stands_only_beside_a_fault() -> None:
    clean_ids = ids(tokens_readout(view_of(PLAIN, 3)).run)
    assert list(tokens_readout(view_of(PLAIN, 3)).clean) == []
    assert ids(tokens_readout(view_of(with_fault(PLAIN, "mask-top-left"), 3)).clean) == clean_ids


def test_a_forced_token_is_marked_and_never_wrong() -> None:
    chosen = [*tokens_readout(view_of(FORCED, 1)).run][-1]
    assert (chosen.token_id, chosen.state, chosen.is_forced) == (65, "next", True)
    read = list(tokens_readout(view_of(FORCED, 2)).run)[8]
    assert (read.token_id, read.state, read.is_forced) == (65, "read", True)
    assert [cell.is_forced for cell in tokens_readout(view_of(FORCED, 4)).run].count(True) == 1


def test_a_refused_token_stands_where_it_would_have_been_read() -> None:
    refused = list(tokens_readout(view_of(FULL, 6)).run)[-1]
    assert (refused.token_index, refused.state) == (12, "refused")


def test_a_rollback_takes_tokens_away_and_names_the_next() -> None:
    readout = tokens_readout(view_of(ROLLED_BACK, 7))
    assert [cell.token_index for cell in readout.run] == list(range(10))
    assert list(readout.run)[-1].state == "next"
    assert readout.sentence.startswith("rollback: reads no token; next is ")


def test_a_new_prompt_begins_a_new_text() -> None:
    readout = tokens_readout(view_of(NEW_TEXT, 2))
    assert ids(readout.run)[:2] == [65, 66]
    assert readout.n_columns == 3


def test_inside_a_prompt_nothing_is_chosen() -> None:
    readout = tokens_readout(view_of(CHUNKED, 1))
    assert list(readout.right) == []
    assert list(readout.run)[-1].is_prompt
    assert not list(readout.run)[-1].is_forced


def test_choices_without_a_verdict_are_pending() -> None:
    readout = tokens_readout(pending_view_of(PLAIN, 2))
    assert [cell.token_index for cell in readout.right] == [7, 8, 9]
    assert {cell.state for cell in readout.right} == {"pending"}


def test_the_sentence_says_what_would_be_right() -> None:
    view = view_of(with_fault(PLAIN, "mask-top-left"), 1)
    readout = tokens_readout(view)
    run = list(readout.run)
    assert readout.sentence == (
        f"decode: reads ‘{run[7].text}’ at token 7; predicts ‘{run[8].text}’; "
        f"right would be ‘{list(readout.right)[-1].text}’"
    )


def test_where_a_token_is_forced_the_sentence_says_what_the_engine_would_have_chosen() -> None:
    view = view_of(with_fault(FORCED, "mask-top-left"), 1)
    readout, record = tokens_readout(view), view.records[1]
    assert record.predicted is not None
    own, right, run = view.token_text(record.predicted), [*readout.right][-1], [*readout.run]
    assert readout.sentence == (
        f"decode: reads ‘{run[7].text}’ at token 7; would say ‘{own}’, right is ‘{right.text}’; "
        f"next is ‘{run[8].text}’, forced"
    )
    assert (right.missed, right.is_wrong) == (own, False)


def test_where_a_token_is_forced_a_right_choice_is_not_told() -> None:
    readout = tokens_readout(view_of(FORCED, 1))
    assert [cell.missed for cell in readout.right] == [None, None]
    assert readout.sentence.endswith(f"; next is ‘{[*readout.run][-1].text}’, forced")
    assert "would" not in readout.sentence


def test_a_choice_of_the_engine_that_was_taken_is_not_missed() -> None:
    readout = tokens_readout(view_of(with_fault(PLAIN, "mask-top-left"), 3))
    assert [cell.missed for cell in readout.right] == [None] * 4


def test_another_choice_within_rounding_is_not_wrong() -> None:
    view = view_of(with_fault(PLAIN, "mask-top-left"), 1)
    verdict = view.verdicts[1]
    assert verdict.logits is not None
    assert list(tokens_readout(view).run)[-1].is_wrong
    close = replace(verdict, logits=replace(verdict.logits, standing="rounding"))
    view = replace(view, verdicts={**view.verdicts, 1: close})
    assert not list(tokens_readout(view).run)[-1].is_wrong


def test_a_forced_token_is_nobodys_wrong_choice() -> None:
    view = view_of(with_fault(FORCED, "mask-top-left"), 1)
    record, verdict = view.records[1], view.verdicts[1]
    assert verdict.logits is not None
    assert record.predicted != verdict.logits.reference_token
    assert record.next_token == 65
    assert not list(tokens_readout(view).run)[-1].is_wrong
