from core.readouts.history import computed_tokens, text_after
from core.readouts.run_history import RunHistory
from tests.core.readouts.runs import (
    CHUNKED,
    NEW_TEXT,
    PROMPT_IDS,
    REPREFILL,
    ROLLED_BACK,
    SKIPPED,
    WINDOW,
    view_of,
    with_fault,
)


def test_a_slot_that_is_used_again_keeps_its_first_step() -> None:
    history = RunHistory(view_of(WINDOW, 5).records).slots(5)
    assert history.first_step.tolist() == [0, 0, 0, 0, 0, 0, 0, 1, 2]
    assert history.was_used_by(1).tolist() == [True] * 8 + [False]


def test_a_slot_counted_past_the_capacity_is_shown() -> None:
    spec = with_fault(ROLLED_BACK, "cap-counter-first")
    history = RunHistory(view_of(spec, 6).records)
    assert [history.slots(step).n_slots for step in (5, 6)] == [12, 13]


def test_the_text_is_what_was_read_and_not_taken_back() -> None:
    records = view_of(ROLLED_BACK, 9).records
    assert [len(text_after(records, step)) for step in range(10)] == [
        7, 8, 9, 10, 11, 12, 12, 9, 10, 11
    ]  # fmt: skip
    assert text_after(records, 9)[9].step == 8


def test_a_new_prompt_forgets_the_text() -> None:
    records = view_of(NEW_TEXT, 3).records
    assert [token.token_id for token in text_after(records, 1).values()][:7] == [*PROMPT_IDS]
    assert [token.token_id for token in text_after(records, 2).values()] == [65, 66]


def test_prompt_tokens_are_told_from_chosen_ones() -> None:
    text = text_after(view_of(CHUNKED, 4).records, 4)
    assert [token.is_prompt for token in text.values()] == [True] * 7 + [False, False]
    assert [token.step for token in text.values()] == [0, 0, 0, 1, 1, 1, 2, 3, 4]


def test_computed_tokens_are_those_read_again_then_the_new_ones() -> None:
    assert list(computed_tokens(view_of(REPREFILL, 2).records[2])) == list(range(1, 9))
    assert list(computed_tokens(view_of(SKIPPED, 1).records[1])) == list(range(4, 12))
    assert list(computed_tokens(view_of(ROLLED_BACK, 7).records[7])) == []
