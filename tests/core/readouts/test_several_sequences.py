"""Beams take turns in the steps of a run; what is shown of a step is of its own sequence."""

from dataclasses import replace

from core.readouts.attention import attention_readout
from core.readouts.next_token import next_token_readout
from core.readouts.seam_values import seam_values
from core.readouts.slot_story import slot_story
from core.readouts.tokens import tokens_readout
from core.readouts.work import work_readout
from core.spec import Decode, Prefill, Reorder, RunSpec, Verify
from tests.core.readouts.runs import PROMPT_IDS, view_of, with_fault

N_PROMPT = len(PROMPT_IDS)
TURNS = RunSpec(
    "tiny-rope",
    PROMPT_IDS,
    capacity=16,
    n_sequences=2,
    requests=(Prefill(PROMPT_IDS), Decode(), Decode(), Reorder((1, 1)), Decode()),
)
"""Steps 0 and 1: the prompt; 2 and 3, 4 and 5: two tokens each; 6: both go on from beam 1."""
THREE = RunSpec("tiny-rope", PROMPT_IDS, n_sequences=3, requests=(Prefill(PROMPT_IDS), Decode()))
DRAFTS = RunSpec(
    "tiny-rope", PROMPT_IDS, requests=(Prefill(PROMPT_IDS), Verify((1, 2, 3), 1), Decode())
)
PADDED = RunSpec("tiny-rope", PROMPT_IDS, requests=(Prefill(PROMPT_IDS, n_pad=2), Decode()))


def _sources(step):
    view = view_of(TURNS, step)
    steps = [query.step for query in attention_readout(view).queries]
    return sorted(set(steps))


def _values(spec, step, seam):
    values = seam_values(view_of(spec, step), seam).values
    return {value.name: value.text for value in values}


def test_the_rows_of_attention_are_those_of_one_sequence():
    assert _sources(4) == [0, 2, 4]
    assert _sources(5) == [1, 3, 5]


def test_after_a_reorder_the_earlier_rows_of_attention_are_the_parents():
    assert _sources(7) == [1, 3, 5, 7]
    assert _sources(8) == [1, 3, 5, 8]


def test_a_slot_is_read_and_written_by_its_own_sequence_only():
    assert "written in step 2; read in steps 2, 4;" in slot_story(view_of(TURNS, 4, slot=N_PROMPT))
    assert "written in step 3; read in steps 3, 5" in slot_story(view_of(TURNS, 5, slot=N_PROMPT))


def test_a_reorder_replaces_what_a_slot_held_by_the_parents_token():
    view = view_of(TURNS, 7, slot=N_PROMPT)
    before = slot_story(view_of(TURNS, 4, slot=N_PROMPT))
    assert "replaced in the reorder in step 6" in before
    own, others = (view.token_text(view.records[step].token_ids[0]) for step in (2, 3))
    assert own != others
    assert f"token {N_PROMPT} ‘{own}’" in before
    assert f"token {N_PROMPT} ‘{others}’" in slot_story(view)
    # Beam 1 goes on from itself.
    assert "replaced" not in slot_story(view_of(TURNS, 8, slot=N_PROMPT))


def test_the_ledger_before_a_step_is_that_of_the_same_sequence():
    assert _values(TURNS, 3, "past_len")["ledger.seen"] == str(N_PROMPT)
    assert _values(TURNS, 4, "past_len")["ledger.seen"] == str(N_PROMPT + 1)


def test_the_best_tokens_that_beams_begin_with_are_no_part_of_the_prompt():
    for step in range(3):
        assert next_token_readout(view_of(THREE, step)).how in ("greedy", "forced")
        assert not tokens_readout(view_of(THREE, step)).run.at(N_PROMPT).is_prompt


def test_a_beam_takes_its_first_token_by_its_place_among_the_best():
    coming = [tokens_readout(view_of(THREE, step)).run.at(N_PROMPT) for step in range(3)]
    read = [tokens_readout(view_of(THREE, step)).run.at(N_PROMPT) for step in range(3, 6)]
    for cells in (coming, read):
        assert [cell.rank for cell in cells] == [None, 1, 2]
        assert not any(cell.is_forced for cell in cells)


def test_after_a_reorder_a_token_keeps_the_place_by_which_the_parent_took_it():
    assert tokens_readout(view_of(TURNS, 7)).run.at(N_PROMPT).rank == 1


def test_a_beam_whose_tokens_are_forced_has_them_from_outside():
    forced = replace(THREE, force_ids=(65, 66, 67))
    cell = tokens_readout(view_of(forced, 1)).run.at(N_PROMPT)
    assert (cell.is_forced, cell.rank) == (True, None)


def test_each_sequence_reads_the_prompt_once_without_a_cache_too():
    assert work_readout(view_of(TURNS, 1)).without_cache == 2 * N_PROMPT


def test_rejected_drafts_are_cropped_in_the_step_that_read_them():
    assert _values(DRAFTS, 1, "crop") == {
        "n": "2", "length": f"{N_PROMPT} → {N_PROMPT + 2} of 128", "seen": str(N_PROMPT + 2),
    }  # fmt: skip
    wrong = seam_values(view_of(with_fault(DRAFTS, "spec-short"), 1), "crop").values
    assert [value.is_wrong for value in wrong] == [False, True, True]


def test_padding_is_counted_as_rows_and_numbered_as_no_token():
    assert _values(PADDED, 0, "overflow")["n_new"] == str(N_PROMPT + 2)
    assert _values(PADDED, 0, "admit")["append.n_keys"] == str(N_PROMPT + 2)
    assert _values(PADDED, 0, "position_ids")["n_new"] == str(N_PROMPT)
    assert _values(PADDED, 0, "causal_mask")["query"].startswith("[–, –, 0, 1")
