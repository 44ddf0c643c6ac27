"""The values beside the code, against tables made by hand."""

from dataclasses import replace

import pytest

from core.readouts.code import FIRST_SEAM, CodeSection, code_readout
from core.readouts.run_view import RunView
from core.readouts.written_values import listed
from core.spec import FaultUse, RunSpec
from tests.core.readouts.runs import (
    CHUNKED,
    FULL,
    LONG,
    NEW_TEXT,
    NOTHING,
    PLAIN,
    PROBE_LEFT,
    PROBED,
    RANKED,
    REPREFILL,
    ROLLED_BACK,
    SINKS,
    SKIPPED,
    TWICE_REFUSED,
    UNEVEN,
    WINDOW,
    pending_view_of,
    view_of,
    with_fault,
)

ALL_RIGHT = {
    "plain": PLAIN,
    "rope": replace(PLAIN, model="tiny-rope"),
    "window": WINDOW,
    "sinks": SINKS,
    "ranks": RANKED,
    "reprefill": REPREFILL,
    "skipped": SKIPPED,
    "chunked": CHUNKED,
    "chunked window": replace(WINDOW, chunk=3, prompt_ids=tuple(range(65, 79))),
    "long": LONG,
    "nothing": NOTHING,
    "full": FULL,
    "rolled back": ROLLED_BACK,
    "twice refused": TWICE_REFUSED,
    "new text": NEW_TEXT,
    "probed": PROBED,
    "probe left": PROBE_LEFT,
    "uneven": UNEVEN,
}
# Name, value, and what is expected where that is something else.
TABLES: dict[str, tuple[RunSpec, int, str, list[tuple[str, ...]]]] = {
    "pos-restart": (
        PLAIN,
        1,
        "position_ids",
        [("past_len", "7"), ("n_new", "1"), ("position_ids", "[0]", "[7]")],
    ),
    "mask-top-left": (
        PLAIN,
        1,
        "causal_mask",
        [
            ("query", "[7]"),
            ("key", "[0, 1, 2, 3, 4, 5, 6, 7]"),
            ("readable[0]", "[0, 1, 2, 3, 4, 5, 6, 7]"),
            ("mask[0]", "[1, 0, 0, 0, 0, 0, 0, 0]", "[1, 1, 1, 1, 1, 1, 1, 1]"),
        ],
    ),
    "mask-unwritten": (
        PLAIN,
        0,
        "kv_view",
        [
            ("ledger.length", "7"),
            ("view_slots", "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]"),
            (
                "view_token_index",
                "[0, 1, 2, 3, 4, 5, 6, –, –, –, –, –]",
                "[0, 1, 2, 3, 4, 5, 6]",
            ),
        ],
    ),
    "cap-early": (
        FULL,
        5,
        "overflow",
        [
            ("ledger.length", "11"),
            ("ledger.capacity", "12"),
            ("n_new", "1"),
            ("n_short", "1", "0"),
            ("outcome", "refused: needs 1, 1 free of 12", "accepted"),
        ],
    ),
    "cap-counter-first": (
        FULL,
        6,
        "admit",
        [
            ("ledger.length", "12"),
            ("ledger.capacity", "12"),
            ("append.n_keys", "1"),
            ("append.n_values", "1"),
            ("append.n_lacking", "1"),
            ("outcome", "refused: needs 1, 0 free of 12"),
            ("length", "12 → 13 of 12", "12"),
            ("seen", "12"),
        ],
    ),
    "store-row-zero": (
        PLAIN,
        1,
        "store",
        [
            ("write_rows", "[7]"),
            ("keys, values", "[4, 1, 8] each"),
            ("view_slots", "[0, 1, 2, 3, 4, 5, 6, 7]"),
            ("row_token", "[7, 1, 2, 3, 4, 5, 6, –]", "[0, 1, 2, 3, 4, 5, 6, 7]"),
        ],
    ),
    "store-alias-in": (
        PLAIN,
        2,
        "store",
        [
            ("write_rows", "[8]"),
            ("keys, values", "[4, 1, 8] each"),
            ("view_slots", "[0, 1, 2, 3, 4, 5, 6, 7, 8]"),
            ("row_token", "[0, 1, 2, 3, 4, 5, 6, 8, 8]", "[0, 1, 2, 3, 4, 5, 6, 7, 8]"),
        ],
    ),
    "store-uneven": (
        UNEVEN,
        2,
        "admit",
        [
            ("ledger.length", "8"),
            ("ledger.capacity", "12"),
            ("append.n_keys", "2"),
            ("append.n_values", "1"),
            ("append.n_lacking", "0"),
            ("outcome", "accepted", "refused: 2 keys and 1 value"),
            ("length", "8 → 10 of 12", "8"),
            ("seen", "8"),
        ],
    ),
}


def section(view: RunView, seam: str | None = None) -> CodeSection:
    readout = code_readout(view)
    return readout.section(seam or readout.first)


def table(shown: CodeSection) -> list[tuple[str, ...]]:
    return [
        (value.name, value.text, *([value.expected or ""] if value.is_wrong else []))
        for value in shown.values
    ]


@pytest.mark.parametrize("fault", TABLES)
def test_the_values_beside_the_code_of_each_fault(fault: str) -> None:
    spec, step, seam, expected = TABLES[fault]
    shown = section(view_of(with_fault(spec, fault), step))
    assert shown.seam == seam
    assert table(shown) == expected


@pytest.mark.parametrize("name", ALL_RIGHT)
def test_nothing_differs_from_what_is_expected_in_a_right_run(name: str) -> None:
    """Whatever the policy, the requests and the step, in each seam."""
    spec = ALL_RIGHT[name]
    n_steps = len(view_of(spec, 0).records)
    for step in range(n_steps):
        readout = code_readout(view_of(spec, step))
        for seam in readout.seams:
            wrong = [value for value in readout.section(seam).values if value.is_wrong]
            assert wrong == [], (step, seam)


@pytest.mark.parametrize("fault", TABLES)
def test_without_a_verdict_nothing_is_expected(fault: str) -> None:
    spec, step, _, expected = TABLES[fault]
    shown = section(pending_view_of(with_fault(spec, fault), step))
    assert [row[:2] for row in expected] == table(shown)
    assert all(value.expected is None for value in shown.values)


def test_a_right_value_tells_what_was_expected_of_it() -> None:
    values = {value.name: value for value in section(view_of(PLAIN, 1)).values}
    assert (values["position_ids"].text, values["position_ids"].expected) == ("[7]", "[7]")
    assert (values["past_len"].text, values["past_len"].expected) == ("7", "7")
    assert values["n_new"].expected is None


def test_without_a_fault_the_position_ids_are_shown_with_the_right_function_alone() -> None:
    readout = code_readout(view_of(PLAIN, 1))
    assert (readout.faulty_seams, readout.first) == ((), FIRST_SEAM)
    shown = readout.section(readout.first)
    assert shown.faulty is None
    assert shown.correct.name == "position_ids"
    assert not any(row.is_changed for row in shown.rows)


def test_two_faults_have_a_section_each() -> None:
    readout = code_readout(view_of(with_fault(PLAIN, "both-bugs"), 1))
    assert readout.faulty_seams == ("position_ids", "causal_mask")
    for seam, function in (("position_ids", "positions_restart"), ("causal_mask", "mask_top_left")):
        shown = readout.section(seam)
        assert shown.faulty is not None
        assert shown.faulty.name == function


def test_a_fault_that_does_not_act_yet_says_when_it_does() -> None:
    spec = replace(PLAIN, faults=(FaultUse("pos-restart", first_step=3),))
    before, after = (section(view_of(spec, step)) for step in (1, 3))
    assert before.note == "the fault acts from step 3 on; in step 1 the right function ran"
    assert not any(value.is_wrong for value in before.values)
    assert after.note == ""
    assert table(after)[-1] == ("position_ids", "[0]", "[9]")


def test_a_seam_that_was_not_asked_says_so_and_shows_no_value() -> None:
    refused, rollback = view_of(FULL, 6), view_of(ROLLED_BACK, 7)
    nothing = "nothing was computed in this step"
    for view, seam, reason in (
        (refused, "position_ids", f"not asked in step 6: {nothing}"),
        (refused, "crop", "not asked in step 6: asked by a rollback, or where drafts are rejected"),
        (rollback, "admit", "not asked in step 7: a rollback appends nothing"),
        (rollback, "store", f"not asked in step 7: {nothing}"),
    ):
        shown = section(view, seam)
        assert (shown.values, shown.note) == ((), reason)


def test_a_rollback_shows_what_it_left() -> None:
    assert table(section(view_of(ROLLED_BACK, 7), "crop")) == [
        ("ledger.length", "12"),
        ("ledger.seen", "12"),
        ("n", "3"),
        ("length", "12 → 9 of 12"),
        ("seen", "9"),
    ]


def test_a_re_prefill_shows_no_ledger_that_it_did_not_start_from() -> None:
    """It starts from an empty one, which no record keeps."""
    names = {value.name for value in section(view_of(REPREFILL, 3), "past_len").values}
    assert names == {"past_len"}


def test_the_mask_row_is_that_of_the_selected_query() -> None:
    view = view_of(with_fault(CHUNKED, "mask-top-left"), 1, token_index=4)
    assert table(section(view))[-2:] == [
        ("mask[1]", "[1, 1, 0, 0, 0, 0]", "[1, 1, 1, 1, 1, 0]"),
        ("also wrong: rows", "[0, 2]", "none"),
    ]


def test_long_lists_show_both_ends_and_have_all_in_full() -> None:
    values = {value.name: value for value in section(view_of(LONG, 0)).values}
    assert values["position_ids"].text == "[0, 1, 2, …, 147, 148, 149]"
    assert values["position_ids"].full.count(",") == 149


def test_long_lists_that_differ_in_the_middle_show_the_place() -> None:
    numbers = list(range(50))
    wrong = listed("answer", "slots", [*numbers[:30], 99, *numbers[31:]], numbers)
    assert (wrong.text, wrong.expected, wrong.is_wrong) == ("[30] = 99", "[30] = 30", True)
    short = listed("answer", "slots", [*numbers[:30], *numbers[31:]], numbers)
    assert (short.text, short.expected, short.is_wrong) == ("[30] = 31", "[30] = 30", True)


def test_the_sentence_says_what_the_panel_shows() -> None:
    assert section(view_of(with_fault(PLAIN, "pos-restart"), 1)).sentence == (
        "position_ids: Position ids start again at 0; past_len = 7; n_new = 1; "
        "position_ids = [0], expected [7]"
    )
