from dataclasses import replace

import pytest

from core.arrays import ABSENT
from core.readouts.cache import cache_readout
from core.readouts.slot_story import looked_at_slot, slot_story
from core.spec import Decode, Prefill, Probe, RunSpec
from tests.core.readouts.runs import (
    FULL,
    NEW_TEXT,
    NOTHING,
    PLAIN,
    PROBED,
    PROMPT_IDS,
    REPREFILL,
    ROLLED_BACK,
    WINDOW,
    view_of,
    with_fault,
)


@pytest.mark.parametrize(
    ("spec", "step", "slot", "story"),
    [
        (
            PLAIN,
            0,
            2,
            "token 2 ‘o’, position id 2, row 2; written in step 0; read in steps 0–5",
        ),
        (PLAIN, 1, 9, "not used by this step; given to token 9 in step 3"),
        (
            with_fault(PLAIN, "store-row-zero"),
            2,
            0,
            "token 0 ‘W’, position id 0, row 0; written in step 0; read in step 0; "
            "found there in steps 1–5: rows of tokens 7–11",
        ),
        (
            with_fault(PLAIN, "store-row-zero"),
            2,
            7,
            "token 7 ‘<0xBB>’, position id 7, row 7; given the slot in step 1; "
            "read in steps 1–5, never written",
        ),
        (
            with_fault(PLAIN, "mask-unwritten"),
            0,
            10,
            "given to no token; read in steps 0–3, never written; given to token 10 in step 4",
        ),
        (
            WINDOW,
            1,
            0,
            "token 0 ‘W’, position id 0, row 0; written in step 0; read in steps 0–2; "
            "let go in step 2; given to token 9 in step 3",
        ),
        (
            WINDOW,
            4,
            0,
            "token 9 ‘<0x81>’, position id 9, row 0; written in step 3; read in steps 3–5; "
            "held before: token 0",
        ),
        (
            REPREFILL,
            2,
            2,
            "token 3 ‘·’, position id 2, row 2; written in step 2; read in step 2; "
            "overwritten in step 3; held before: token 2; given to token 4 in step 3",
        ),
        (
            ROLLED_BACK,
            7,
            10,
            "token 10 ‘i’, position id 10, row 10; written in step 4; read in steps 4, 5; "
            "taken back in step 7; given to token 10 in step 9",
        ),
        (
            NEW_TEXT,
            1,
            5,
            "token 5 ‘s’, position id 5, row 5; written in step 0; read in steps 0, 1; "
            "forgotten in step 2",
        ),
        (
            PROBED,
            3,
            8,
            "a row of no token, from step 2 on; read in steps 3, 4, a row of no token was there",
        ),
    ],
    ids=[
        "plain",
        "not yet",
        "another's row",
        "never written",
        "read unwritten",
        "left",
        "used again",
        "re-prefill",
        "rollback",
        "new prompt",
        "probe",
    ],
)
def test_a_slot_tells_who_was_there_and_what_reads_found(
    spec: RunSpec, step: int, slot: int, story: str
) -> None:
    assert slot_story(view_of(spec, step, slot=slot)) == f"slot {slot}: {story}"


def test_without_a_selection_the_newest_token_s_slot_is_told() -> None:
    assert looked_at_slot(view_of(PLAIN, 3)) == 9
    assert looked_at_slot(view_of(FULL, 6)) == 11
    assert looked_at_slot(view_of(NOTHING, 0)) is None
    assert slot_story(view_of(NOTHING, 0)) == ""


def test_a_token_that_has_left_is_found_in_the_slot_that_it_had() -> None:
    assert slot_story(view_of(WINDOW, 4, token_index=0)) == (
        "slot 0: token 0 ‘W’, position id 0, row 0; written in step 0; read in steps 0–2; "
        "let go in step 2; given to token 9 in step 3"
    )


def test_a_token_that_no_slot_held_says_so() -> None:
    story = slot_story(view_of(PLAIN, 1, token_index=20))
    assert story == "token 20: no slot held it by this step"


def test_the_story_is_that_of_the_layer_looked_at() -> None:
    spec = with_fault(PLAIN, "store-row-zero", layers=(1,))
    stories = [slot_story(view_of(spec, 1, slot=7, layer=layer)) for layer in (0, 1)]
    assert stories[0].endswith("read in steps 1–5")
    assert stories[1].endswith("read in steps 1–5, never written")


def test_a_row_outside_the_buffer_was_never_written() -> None:
    """The cache counts slot 12 of 12; the account of the cache says so too."""
    view = view_of(with_fault(FULL, "cap-late"), 6)
    assert view.records[6].live[0].row[-1] == ABSENT
    assert slot_story(view).endswith(
        "position id 12, row 12; given the slot in step 6; never written: row 12 is outside the "
        "buffer; not read yet"
    )
    assert "slot 12 counted, never written" in cache_readout(view).sentence


def test_a_probe_s_row_outside_the_buffer_was_never_written() -> None:
    """Two rows are let in where one fits: slot 11 has a row of no token, slot 12 has none."""
    asked = (Prefill(PROMPT_IDS), *(Decode(),) * 4, Probe(2, 2))
    spec = with_fault(replace(PLAIN, steps=0, requests=asked), "cap-one-row-test")
    view = view_of(spec, 5)
    assert view.records[5].live[0].row.tolist()[11:] == [11, ABSENT]
    assert slot_story(view_of(spec, 5, slot=11)).startswith("slot 11: a row of no token")
    told = "slot 12: counted from step 5 on; never written: it is outside the buffer"
    assert slot_story(view_of(spec, 5, slot=12)).startswith(told)
    assert "holds 12 of 12" in cache_readout(view).sentence
    assert "slot 12 counted, never written" in cache_readout(view).sentence
