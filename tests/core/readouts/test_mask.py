from dataclasses import replace

import numpy as np
import pytest

from core.arrays import ABSENT
from core.readouts.mask import mask_readout
from core.spec import Decode, FaultUse, Prefill, RunSpec
from tests.core.readouts.runs import (
    CHUNKED,
    FULL,
    PLAIN,
    PROBED,
    PROMPT_IDS,
    RANKED,
    REPREFILL,
    ROLLED_BACK,
    SINKS,
    SKIPPED,
    TWICE_REFUSED,
    WINDOW,
    pending_view_of,
    view_of,
    with_fault,
)


@pytest.mark.parametrize(
    ("spec", "step", "sentence"),
    [
        (PLAIN, 0, "token 6 sees 7 of 7: positions 0–6"),
        (PLAIN, 1, "sees 8 of 8: positions 0–7"),
        (CHUNKED, 2, "sees 7 of 7: positions 0–6"),
        (WINDOW, 4, "sees 8 of 8: positions 3–10"),
        (SINKS, 4, "sees 8 of 8: positions 0, 1, 5–10"),
        # Where the policy renumbers, or a fault does, a token index is no position id.
        (with_fault(PLAIN, "pos-restart"), 1, "sees 8 of 8: tokens 0–7"),
        (RANKED, 4, "sees 8 of 8: tokens 0, 1, 5–10"),
        (REPREFILL, 4, "token 10 sees 8 of 8: tokens 3–10"),
        (REPREFILL, 0, "token 6 sees 7 of 7: tokens 0–6"),
        # Once a step gave other numbers, later ones say tokens as well: one word for one thing.
        (replace(PLAIN, faults=(FaultUse("pos-restart", 2, 2),)), 1, "sees 8 of 8: positions 0–7"),
        (replace(PLAIN, faults=(FaultUse("pos-restart", 2, 2),)), 3, "sees 10 of 10: tokens 0–9"),
        (with_fault(PLAIN, "mask-top-left"), 0, "token 6 sees 7 of 7: positions 0–6"),
        (
            with_fault(PLAIN, "mask-top-left"),
            1,
            "sees 1 of 8: position 0; blind to 1–7; this is causal row 0, row 7 is right",
        ),
        (
            with_fault(PLAIN, "mask-top-left", "pos-restart"),
            1,
            "sees 1 of 8: token 0; blind to 1–7; this is causal row 0, row 7 is right",
        ),
        (with_fault(WINDOW, "ring-shuffle"), 1, "sees 8 of 8: positions 0–7"),
        (
            with_fault(WINDOW, "ring-shuffle"),
            2,
            "sees 8 of 8: positions 1–8; rows read out of token order: 8, 1–7",
        ),
        (
            with_fault(PLAIN, "mask-top-left"),
            4,
            "sees 1 of 11: position 0; blind to 1–10; this is causal row 0, row 10 is right",
        ),
        (FULL, 6, "nothing was computed in this step, so no mask was used"),
        (ROLLED_BACK, 7, "nothing was computed in this step, so no mask was used"),
    ],
)
def test_the_sentence_says_what_the_newest_query_sees(
    spec: RunSpec, step: int, sentence: str
) -> None:
    assert mask_readout(view_of(spec, step)).sentence == sentence


def test_rows_never_written_are_told_with_their_share_of_the_weight_over_all_heads() -> None:
    view = view_of(with_fault(PLAIN, "mask-unwritten"), 0, layer=1, head=2)
    layers = view.records[0].layers
    shares = [100 * told.weights[:, -1, 7:].sum(axis=-1, dtype=np.float64) for told in layers]
    least, most = min(map(np.min, shares)), max(map(np.max, shares))
    assert least < most
    assert mask_readout(view).sentence == (
        f"reads 12 rows, 7 written; {least:.3g}–{most:.3g} % of the weight on rows never written "
        f"over {sum(map(len, shares))} heads, {shares[1][2]:.3g} % in layer 1, head 2; "
        "token 6 sees 7 of 7: positions 0–6"
    )


def test_the_share_over_all_heads_is_the_same_whichever_head_is_looked_at() -> None:
    spec = with_fault(PLAIN, "mask-unwritten")
    said = {
        mask_readout(view_of(spec, 1, layer=layer, head=head)).sentence.split(" heads, ")[0]
        for layer in (0, 3)
        for head in (0, 1, 3)
    }
    assert len(said) == 1


def test_the_weight_on_rows_never_written_fades_as_the_buffer_fills() -> None:
    """The tenth row is written in step 3, the last one in step 5: nothing is said any more."""
    spec = with_fault(FULL, "mask-unwritten")
    said = [mask_readout(view_of(spec, step)).sentence for step in range(6)]
    written = [f"reads 12 rows, {7 + step} written" in said[step] for step in range(6)]
    assert written == [True] * 5 + [False]
    assert "never written" not in said[5]


def test_the_row_of_a_triangle_is_not_named_where_rows_without_a_token_are_seen() -> None:
    for spec, step in ((with_fault(PLAIN, "mask-unwritten"), 0), (PROBED, 3)):
        assert "of the causal mask" not in mask_readout(view_of(spec, step)).sentence


def test_a_row_of_no_token_is_told_apart_from_one_never_written() -> None:
    readout = mask_readout(view_of(with_fault(TWICE_REFUSED, "cap-counter-first"), 9))
    assert readout.sentence.startswith("reads 1 row without a token; ")
    assert readout.sentence.endswith("; sees 10 of 10: positions 0–9")


def test_a_right_query_does_not_speak_for_those_before_it() -> None:
    """The newest token of a prompt may see all of it, so that no mask at all is right for it."""
    spec = with_fault(PLAIN, "mask-off-with-cache")
    sees_all, wrong = "token 6 sees 7 of 7: positions 0–6", "; wrong for tokens 0–5 of this step"
    assert mask_readout(view_of(spec, 0)).sentence == sees_all + wrong
    assert mask_readout(view_of(PLAIN, 0)).sentence == sees_all


def test_a_query_whose_tokens_are_not_among_the_rows_is_wrong() -> None:
    """Rows 0 and 1 leave before tokens 3 and 4 have read them; token 5 may not see them anyway."""
    spec = replace(PLAIN, policy="window", capacity=4, chunk=3)
    readout = mask_readout(view_of(with_fault(spec, "evict-before-attend"), 1))
    assert [(q.token_index, q.is_wrong) for q in readout.queries] == [
        (3, True),
        (4, True),
        (5, False),
    ]
    assert (
        readout.sentence == "token 5 sees 4 of 4: positions 2–5; wrong for tokens 3, 4 of this step"
    )


@pytest.mark.parametrize(
    ("token", "said"),
    [(None, "token 6 sees 7 of 7: positions 0–6"), (1, "token 1 sees 2 of 2: positions 0, 1")],
)
def test_the_token_is_named_where_a_step_computes_several(token: int | None, said: str) -> None:
    view = view_of(PLAIN, 0)
    view = replace(view, selection=replace(view.selection, token_index=token))
    assert mask_readout(view).sentence == said


def test_padding_is_a_query_without_a_text() -> None:
    readout = mask_readout(
        view_of(replace(PLAIN, steps=0, requests=(Prefill(PROMPT_IDS, 3), Decode())), 0)
    )
    assert [asked.token_index for asked in readout.queries] == [-3, -2, -1, *range(7)]
    assert [asked.text for asked in readout.queries[:3]] == [""] * 3


def test_the_mask_of_row_zero_hides_all_but_the_first_column() -> None:
    readout = mask_readout(view_of(with_fault(PLAIN, "mask-top-left"), 1))
    assert readout.used.tolist() == [[True] + [False] * 7]
    assert readout.expected.tolist() == [[True] * 8]
    assert readout.is_blind.tolist() == [[False] + [True] * 7]
    assert not readout.is_leak.any()
    assert (readout.used_row, readout.right_row) == (0, 7)
    assert readout.queries[0].is_wrong


def test_empty_slots_that_are_read_are_leaks() -> None:
    readout = mask_readout(view_of(with_fault(PLAIN, "mask-unwritten"), 1))
    assert readout.is_leak.tolist() == [[False] * 8 + [True] * 4]
    assert [column.is_unwritten for column in readout.columns] == [False] * 8 + [True] * 4
    assert [column.token_index for column in readout.columns] == [*range(8), *(None,) * 4]
    assert (readout.used_row, readout.right_row) == (11, 7)


def test_columns_name_the_token_really_there() -> None:
    readout = mask_readout(view_of(with_fault(PLAIN, "store-row-zero"), 1))
    assert readout.columns[0].token_index == 7
    assert readout.columns[0].claimed_token_index == 0
    assert readout.tokens[readout.used[0]].tolist() == [7, 1, 2, 3, 4, 5, 6, ABSENT]
    assert readout.sentence.endswith("sees 7 of 8: positions 1–7; blind to 0")


def test_a_prefill_has_a_query_per_token_and_a_triangle() -> None:
    readout = mask_readout(view_of(PLAIN, 0))
    assert np.array_equal(readout.used, np.tri(7, dtype=bool))
    assert np.array_equal(readout.expected, readout.used)
    assert [query.token_index for query in readout.queries] == list(range(7))


def test_a_selected_token_of_the_step_is_the_query_looked_at() -> None:
    readout = mask_readout(view_of(PLAIN, 0, token_index=2))
    assert readout.query == 2
    assert readout.sentence == "token 2 sees 3 of 3: positions 0–2"


def test_a_chunk_reads_the_rows_of_the_chunks_before_it() -> None:
    readout = mask_readout(view_of(CHUNKED, 1))
    assert readout.used.tolist() == [
        [True, True, True, True, False, False],
        [True, True, True, True, True, False],
        [True] * 6,
    ]
    assert np.array_equal(readout.used, readout.expected)


def test_only_the_new_tokens_of_a_reprefill_are_judged() -> None:
    readout = mask_readout(view_of(REPREFILL, 2))
    assert readout.is_judged.tolist() == [False] * 7 + [True]
    assert mask_readout(view_of(REPREFILL, 2, token_index=4)).sentence == (
        "token 4 sees tokens 1–4; not judged"
    )


def test_rows_of_a_probe_may_be_seen() -> None:
    readout = mask_readout(view_of(PROBED, 3))
    assert readout.columns[8].token_index is None
    assert not readout.is_leak.any()
    assert not readout.is_blind.any()


def test_without_a_verdict_the_sentence_tells_only_what_was_seen() -> None:
    readout = mask_readout(pending_view_of(with_fault(PLAIN, "mask-top-left"), 1))
    assert readout.sentence == "sees position 0; not judged yet"
    assert not readout.is_judged.any()
    assert not readout.is_blind.any()
    assert readout.right_row is None


def test_layers_with_another_mask_are_not_named_alike() -> None:
    spec = with_fault(PLAIN, "mask-top-left", layers=(1, 3))
    assert mask_readout(view_of(spec, 1, layer=0)).layers_alike == (0, 2)
    assert mask_readout(view_of(spec, 1, layer=3)).layers_alike == (1, 3)
    assert mask_readout(view_of(spec, 1, layer=0)).sentence == "sees 8 of 8: positions 0–7"


def test_tokens_that_were_never_computed_are_no_queries() -> None:
    readout = mask_readout(view_of(SKIPPED, 1))
    assert [query.token_index for query in readout.queries] == list(range(4, 12))
    assert readout.is_judged.all()
    assert np.array_equal(readout.expected, np.tri(8, dtype=bool))
    assert readout.sentence == "token 11 sees 8 of 8: tokens 4–11"
