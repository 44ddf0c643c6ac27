"""Of a fault that nobody wrote a rule for, what is said is so: a place, and no known mechanism."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from core.diagnose.finding import Diagnosis
from core.diagnose.words import UNDECIDED, UNKNOWN
from core.engine import seams
from core.faults.fault import Scenario
from core.faults.scenarios import (
    BEAMS,
    CHUNKED,
    DECODING,
    FILLING,
    GROWING,
    NARROW,
    REFUSED_THEN_ROLLED_BACK,
    ROPE_DECODING,
    SINKS,
    WINDOW,
)
from core.outcome import OK
from core.session import Session
from tests.helpers.diagnosis_cases import diagnosis_of, loaded_model
from tests.helpers.runs import Judged, judge_again


@dataclass(frozen=True, slots=True)
class Own:
    """A wrong function on a seam.

    Attributes:
        seam: the seam.
        function: the function.
        field: what differs first.
        runs: where it is tried.
    """

    seam: str
    function: Callable[..., Any]
    field: str
    runs: tuple[Scenario, ...] = (DECODING,)


def one_too_far(past_len, n_new, ledger):
    first = past_len + 1 if past_len else 0
    return np.arange(first, first + n_new)


def backwards(past_len, n_new, ledger):
    return np.arange(past_len + n_new - 1, past_len - 1, -1)


def now_and_then_stuck(past_len, n_new, ledger):
    ids = np.arange(past_len, past_len + n_new)
    return np.where(ids % 3 == 2, ids - 1, ids)


def every_second_from_zero(past_len, n_new, ledger):
    first = 0 if past_len % 2 else past_len
    return np.arange(first, first + n_new)


def one_behind(ledger, held):
    return max(0, ledger.seen - ledger.origin - 1)


def half_keys(scheme, keys, position_ids, new_keys):
    return keys * 0.5


def old_keys_negated(scheme, keys, position_ids, new_keys):
    n_old = keys.shape[1] - new_keys.shape[1]
    changed = keys.clone()
    changed[:, :n_old] *= -1
    return changed


def negated_in_place(scheme, keys, position_ids, new_keys):
    used = keys.clone()
    keys.neg_()
    return used


def turned_back_in_place(scheme, keys, position_ids, new_keys):
    used = keys.clone()
    keys.copy_(scheme.rotate(keys, -position_ids))
    return used


def halved_where_they_are(scheme, keys, position_ids, new_keys):
    n_old = keys.shape[1] - new_keys.shape[1]
    keys[:, :n_old] *= 0.5
    return keys.clone()


def doubled(rows, write_rows, keys, values):
    rows.write(write_rows, keys * 2, values)


def swapped(rows, write_rows, keys, values):
    rows.write(write_rows, values, keys)


def every_third_lost(rows, write_rows, keys, values):
    kept = [i for i, row in enumerate(write_rows.tolist()) if row % 3 != 2]
    if kept:
        rows.write(write_rows[kept], keys[:, kept], values[:, kept])


def two_to_a_row(slots):
    return slots // 2


def placed_twice(scheme, x, position_ids):
    return scheme.embed(scheme.embed(x, position_ids), position_ids)


def single_placed_further(scheme, x, position_ids):
    return scheme.embed(x, position_ids + (len(position_ids) == 1))


def turned_half(scheme, heads, position_ids):
    return scheme.rotate(heads, position_ids // 2)


def from_the_last_head(heads, n_rep):
    return heads.repeat_interleave(n_rep, dim=-3).flip(-3)


def every_second(query, key, readable):
    return readable & (key <= query[:, None]) & ((key % 2 == 0) | (key == query[:, None]))


def all_but_the_first(ledger):
    return ledger.counted_slots[1:] if ledger.length > 1 else ledger.counted_slots


def four_bits(rows):
    scale = (rows.abs().amax(-1, keepdim=True) / 7).clamp(min=1e-9)
    return (rows / scale).round() * scale


def signs(rows):
    return rows.sign()


def cut_off(rows):
    return rows.trunc()


def three_spare(ledger, n_new):
    return max(0, ledger.length + n_new - ledger.capacity + 3)


def all_taken(ledger, append):
    return ledger.count(append.n_keys, append.n_tokens), OK


def no_sinks(query, key, recent, sinks):
    return seams.in_window(query, key, recent, 0)


def one_in_the_middle(ledger, n_short, sinks):
    keep = np.ones(len(ledger.token_index), dtype=bool)
    keep[len(keep) // 2 : len(keep) // 2 + n_short] = False
    return ledger.only(keep)


def one_too_many(ledger, n):
    return seams.crop(ledger, min(n + 1, ledger.seen))


def capacity_told(ledger):
    return ledger.capacity


def further_by_layer(position_ids, layer):
    return position_ids + layer, position_ids


def in_pairs(n_layers, shape, like):
    buffers = [like.new_zeros(shape) for _ in range((n_layers + 1) // 2)]
    return tuple(buffers[layer // 2] for layer in range(n_layers))


def emptied(kv, n_rows):
    return kv.new_zeros(*kv.shape[:2], n_rows, kv.shape[3])


def doubled_as_it_grows(kv, n_rows):
    return seams.grow(kv * 2, n_rows)


def shrunk_as_it_grows(kv, n_rows):
    return seams.grow(kv * kv.shape[-1] ** -0.5, n_rows)


def values_alone(rows, parents):
    copies = [rows[parent].clone() for parent in parents]
    for mine, copy in zip(rows, copies, strict=True):
        mine[1].copy_(copy[1])


OWN = (
    Own(
        "position_ids", one_too_far, "position_ids", (DECODING, CHUNKED, replace(DECODING, chunk=1))
    ),
    Own("position_ids", backwards, "position_ids", (DECODING, CHUNKED)),
    Own("position_ids", now_and_then_stuck, "position_ids"),
    Own("position_ids", every_second_from_zero, "position_ids"),
    Own("past_len", one_behind, "position_ids"),
    Own("read_keys", half_keys, "rotated_keys", (DECODING, ROPE_DECODING)),
    Own("read_keys", old_keys_negated, "rotated_keys", (DECODING, ROPE_DECODING)),
    Own("read_keys", negated_in_place, "keys", (DECODING, ROPE_DECODING)),
    Own("read_keys", turned_back_in_place, "keys", (ROPE_DECODING,)),
    Own("read_keys", halved_where_they_are, "rotated_keys", (DECODING, ROPE_DECODING)),
    Own("store", doubled, "keys"),
    Own("store", swapped, "keys"),
    Own("store", every_third_lost, "keys"),
    Own("slot_mapping", two_to_a_row, "keys"),
    Own("add_positions", placed_twice, "keys"),
    Own("add_positions", single_placed_further, "keys"),
    Own("rotate", turned_half, "keys", (ROPE_DECODING,)),
    Own("repeat_kv", from_the_last_head, "scores", (ROPE_DECODING,)),
    Own("causal_mask", every_second, "visible", (DECODING, WINDOW)),
    Own("kv_view", all_but_the_first, "keys", (DECODING, WINDOW)),
    Own("quantise", four_bits, "keys", (NARROW,)),
    Own("quantise", signs, "keys", (NARROW,)),
    Own("quantise", cut_off, "keys", (NARROW,)),
    Own("overflow", three_spare, "outcome", (FILLING,)),
    Own("admit", all_taken, "outcome", (FILLING,)),
    Own("in_window", no_sinks, "readable", (SINKS,)),
    Own("evict", one_in_the_middle, "contents", (WINDOW,)),
    Own("crop", one_too_many, "length", (REFUSED_THEN_ROLLED_BACK,)),
    Own("reported_length", capacity_told, "length"),
    Own("layer_position_ids", further_by_layer, "scores", (ROPE_DECODING,)),
    Own("allocate", in_pairs, "keys"),
    Own("grow", emptied, "keys", (GROWING,)),
    Own("grow", doubled_as_it_grows, "keys", (GROWING,)),
    Own("grow", shrunk_as_it_grows, "keys", (GROWING,)),
    Own("reorder", values_alone, "keys", (BEAMS,)),
)
CASES = [(own, scenario) for own in OWN for scenario in own.runs]


def run_of(own: Own, scenario: Scenario) -> Judged:
    loaded = loaded_model(scenario.model)
    spec = scenario.spec(loaded.tokenizer.encode)
    session = Session(spec, loaded, adapt=lambda table: replace(table, **{own.seam: own.function}))
    return judge_again(session.run(), loaded)


def said_of(own: Own, scenario: Scenario) -> tuple[Diagnosis, ...]:
    return diagnosis_of(run_of(own, scenario))


@pytest.mark.parametrize(
    ("own", "scenario"),
    CASES,
    ids=lambda one: one.function.__name__ if isinstance(one, Own) else "",
)
def test_no_known_mechanism_is_named_of_another_one(own: Own, scenario: Scenario) -> None:
    [found] = said_of(own, scenario)
    assert found.preset_like is None
    could = " and ".join(each.preset_like for each in found.rivals)
    assert found.mechanism.endswith(f"; {could} {UNDECIDED}" if could else f"; {UNKNOWN}")
    assert found.where.field == own.field
    assert found.evidence


def test_the_number_that_is_wrong_is_told_all_the_same() -> None:
    [found] = said_of(OWN[0], DECODING)
    assert found.mechanism.startswith("new tokens are not numbered on from the tokens read before")
    assert found.evidence[0] == (
        "step 1: query at token 7 was given position id 8; expected 7; "
        "every decode step since step 1"
    )
    assert found.rivals == ()


def test_a_run_that_ends_at_a_position_no_token_should_have_names_it() -> None:
    def far_out(past_len, n_new, ledger):
        return np.arange(past_len, past_len + n_new) + (1000 if past_len else 0)

    [found] = said_of(Own("position_ids", far_out, ""), DECODING)
    assert found.mechanism.startswith("new tokens are numbered past the model's last position; ")
    assert found.evidence[0].startswith("step 1: position id 1007 was asked for, past the model's")
    assert "expected 7" in found.evidence[0]
    assert found.where.field == "outcome"


def test_a_single_token_that_enters_wrong_could_lack_its_position() -> None:
    """Unless it is read alone twice, that cannot be told from other wrong positions."""
    own = Own(
        "add_positions", lambda scheme, x, ids: x if len(ids) == 1 else scheme.embed(x, ids), ""
    )
    [found] = said_of(own, DECODING)
    assert found.preset_like is None
    assert found.mechanism.endswith("; pos-skip-single could give this, and so could others")
    assert [rival.preset_like for rival in found.rivals] == ["pos-skip-single"]
    again = replace(DECODING, rest=f"{DECODING.rest} Mia")
    [found] = said_of(own, again)
    assert found.preset_like == "pos-skip-single"
    [found] = said_of(Own("add_positions", single_placed_further, ""), again)
    assert (found.preset_like, found.rivals) == (None, ())
