"""The ordered list of all faults, and the named combinations."""

import difflib

from core.errors import FaultError
from core.faults import (
    beam_keys_only,
    beam_no_reorder,
    cap_counter_first,
    cap_early,
    cap_late,
    cap_one_row_test,
    evict_before_attend,
    evict_never,
    evict_newest,
    evict_off_by_one,
    evict_one_short,
    gauge_lies,
    gqa_tile,
    mask_nan_row,
    mask_off_with_cache,
    mask_own_block,
    mask_own_chunk,
    mask_pads_open,
    mask_top_left,
    mask_unwritten,
    pos_captured_alias,
    pos_hole,
    pos_layer_counter,
    pos_layer_prefill,
    pos_memo,
    pos_pad_columns,
    pos_pad_mixed,
    pos_restart,
    pos_retained_rows,
    pos_skip_single,
    pos_stale_prompt,
    pos_wrong_axis,
    prefix_last_twice,
    quant_floor,
    quant_no_descale,
    quant_zero_scale,
    ring_shuffle,
    ring_start,
    rope_on_read,
    rope_write_back,
    rope_writeback_lost,
    sinks_lost,
    spec_no_rollback,
    spec_reset,
    spec_short,
    store_alias_in,
    store_alias_out,
    store_double_append,
    store_first_lost,
    store_grow_scramble,
    store_layers_share,
    store_row_zero,
    store_stale_reset,
    store_uneven,
    store_write_lost,
)
from core.faults.fault import Fault

FAULTS: tuple[Fault, ...] = (
    pos_restart.FAULT,
    pos_skip_single.FAULT,
    pos_wrong_axis.FAULT,
    pos_hole.FAULT,
    pos_memo.FAULT,
    pos_stale_prompt.FAULT,
    pos_layer_counter.FAULT,
    pos_layer_prefill.FAULT,
    pos_captured_alias.FAULT,
    pos_retained_rows.FAULT,
    pos_pad_mixed.FAULT,
    pos_pad_columns.FAULT,
    rope_on_read.FAULT,
    rope_write_back.FAULT,
    rope_writeback_lost.FAULT,
    mask_top_left.FAULT,
    mask_own_block.FAULT,
    mask_own_chunk.FAULT,
    mask_off_with_cache.FAULT,
    mask_unwritten.FAULT,
    mask_pads_open.FAULT,
    mask_nan_row.FAULT,
    cap_early.FAULT,
    cap_late.FAULT,
    cap_counter_first.FAULT,
    cap_one_row_test.FAULT,
    evict_newest.FAULT,
    evict_off_by_one.FAULT,
    evict_one_short.FAULT,
    evict_never.FAULT,
    evict_before_attend.FAULT,
    ring_start.FAULT,
    ring_shuffle.FAULT,
    sinks_lost.FAULT,
    store_row_zero.FAULT,
    store_alias_in.FAULT,
    store_alias_out.FAULT,
    store_write_lost.FAULT,
    store_first_lost.FAULT,
    store_layers_share.FAULT,
    store_double_append.FAULT,
    store_grow_scramble.FAULT,
    store_stale_reset.FAULT,
    store_uneven.FAULT,
    beam_no_reorder.FAULT,
    beam_keys_only.FAULT,
    spec_no_rollback.FAULT,
    spec_short.FAULT,
    spec_reset.FAULT,
    prefix_last_twice.FAULT,
    gqa_tile.FAULT,
    quant_floor.FAULT,
    quant_no_descale.FAULT,
    quant_zero_scale.FAULT,
    gauge_lies.FAULT,
)

COMBINATIONS: dict[str, tuple[str, ...]] = {
    "both-bugs": ("pos-restart", "mask-top-left"),
    "interview-class": ("cap-early", "cap-counter-first", "mask-unwritten"),
}


def find_faults(name: str) -> tuple[Fault, ...]:
    """The fault with this id, or the faults of the combination of this name.

    Raises:
        FaultError: there is none; the message names all, first those that are spelt alike.
    """
    by_id = {fault.id: fault for fault in FAULTS}
    members = COMBINATIONS.get(name, (name,))
    if any(member not in by_id for member in members):
        known = (*by_id, *COMBINATIONS)
        near = difflib.get_close_matches(name, known, n=3)
        what = f"did you mean {' or '.join(near)}? " if near else ""
        raise FaultError(f"fault {name!r} is not known; {what}there are {', '.join(known)}")
    return tuple(by_id[member] for member in members)
