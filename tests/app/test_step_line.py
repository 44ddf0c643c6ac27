"""The line beside the transport, in words that a person can read aloud."""

from dataclasses import dataclass, replace
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest

from app.step_line import step_line
from core.outcome import PositionLimit, Refused
from core.selection import Selection
from core.verdict import Difference, LogitsVerdict
from tests.app.fakes import record, verdict

WORDS = {0: "The", 1: "·kite", 2: "?", 3: "·Tom"}


@dataclass(frozen=True)
class Plan:
    position_ids: np.ndarray


def view(
    *records, step: int = 0, verdicts=(), chunk: int | None = None, n_sequences: int = 1
) -> SimpleNamespace:
    return SimpleNamespace(
        spec=SimpleNamespace(chunk=chunk, policy="refuse", n_sequences=n_sequences),
        records=records,
        verdicts=MappingProxyType({v.step: v for v in verdicts}),
        selection=Selection(step=step),
        token_text=lambda token_id: WORDS.get(token_id, f"<{token_id}>"),
    )


def computed(step: int, token_ids: tuple[int, ...], positions: list[int], **changes):
    layer = SimpleNamespace(plan=Plan(np.array(positions)))
    return record(step, token_ids=token_ids, layers=(layer,), **changes)


def test_a_decode_names_its_token_its_position_and_what_follows():
    at = computed(1, (2,), [9], predicted=3, next_token=3)
    line = step_line(view(record(0), at, record(2), step=1), None)
    assert line.text == "step 1 of 2 · decode · feeds '?' at position 9 · predicts '·Tom'"


def test_a_prefill_gives_the_range_of_its_positions():
    at = computed(0, (0, 1, 2), [0, 1, 2], predicted=3, next_token=3)
    text = step_line(view(at), None).text
    assert text == "step 0 of 0 · prefill · feeds 3 tokens at positions 0–2 · predicts '·Tom'"


def test_positions_that_are_no_range_are_listed():
    at = computed(0, (0, 1), [3, 3], predicted=3, next_token=3)
    assert "at positions 3, 3" in step_line(view(at), None).text


def test_a_forced_token_is_told_beside_the_engine_s_own_choice():
    at = computed(0, (0,), [0], predicted=3, next_token=1, is_forced=True)
    assert step_line(view(at), None).text.endswith("predicts '·Tom' · reads '·kite' next")


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Refused(1, 0), "refused: needs 1, 0 free of 8"),
        (Refused(3, 2), "refused: needs 3, 2 free of 8"),
        (PositionLimit(256), "ended: the model has 256 positions"),
    ],
    ids=["one", "several", "positions"],
)
def test_a_refused_step_says_what_was_offered_and_what_was_lacking(outcome, words):
    at = record(0, outcome, token_ids=(2,))
    assert step_line(view(at), None).text == f"step 0 of 0 · prefill · offers '?' · {words}"


def test_a_refused_rollback_is_not_said_to_lack_room():
    at = record(0, Refused(2, 1), phase="rollback", token_ids=())
    words = step_line(view(at), None).text
    assert words == "step 0 of 0 · rollback · refused: needs 2, 1 still held"


def test_a_probe_and_a_rollback_say_that_they_read_nothing():
    probe = record(0, phase="probe", token_ids=(), predicted=None, next_token=None)
    back = record(1, phase="rollback", token_ids=(), predicted=None, next_token=2)
    assert step_line(view(probe), None).text.endswith("its rows hold no token")
    text = step_line(view(probe, back, step=1), None).text
    assert text.endswith("rollback · takes the newest tokens back · reads '?' next")


def test_the_end_of_the_text_is_said_at_the_newest_step_only():
    both = (record(0), record(1))
    assert step_line(view(*both, step=1), "end_of_text").text.endswith("the text ends here")
    assert "ends here" not in step_line(view(*both, step=0), "end_of_text").text


def test_a_step_that_is_not_judged_is_pending_in_all_three():
    line = step_line(view(record(0)), None)
    assert [(sign.name, sign.mark) for sign in line.signs] == [
        ("policy", "…"),
        ("mechanism", "…"),
        ("logits", "…"),
    ]


@pytest.mark.parametrize(("standing", "mark"), [("right", "✓"), ("rounding", "≈"), ("wrong", "✕")])
def test_each_standing_of_the_logits_has_its_sign_and_its_numbers(standing, mark):
    logits = LogitsVerdict(standing, 0.25, 0.5, 1e-4, 1e-3, np.zeros(3), 0)
    judged = replace_logits(logits)
    sign = step_line(view(record(0), verdicts=[judged]), None).signs[2]
    assert sign.mark == mark
    for number in ("0.25", "0.5 nats", "0.0001", "0.001"):
        assert number in sign.tooltip


def replace_logits(logits: LogitsVerdict) -> SimpleNamespace:
    judged = verdict(0)
    judged.logits = logits
    return judged


def test_a_step_without_logits_has_a_dash():
    assert step_line(view(record(0), verdicts=[verdict(0)]), None).signs[2].mark == "–"


def test_the_first_difference_names_field_dock_layer_and_head():
    judged = verdict(0, is_wrong=True)
    judged.first_difference = Difference(2, 1, "rotated_keys")
    line = step_line(view(record(0), verdicts=[judged]), None)
    assert line.where == "first in rotated keys (Inspector), layer 2, head 1"
    assert "the row ‘layer 2’ of Spread" in line.where_tooltip
    assert line.signs[0].mark == "✕"


def test_a_word_of_the_mask_names_the_dock_and_the_row_of_spread_where_it_is_seen():
    judged = verdict(0, is_wrong=True)
    judged.first_difference = Difference(0, None, "visible")
    line = step_line(view(record(0), verdicts=[judged]), None)
    assert line.where == "first in visible (Mask), layer 0"
    assert "Seen in the dock Mask, and in the row ‘mask’ of Spread" in line.where_tooltip


def test_the_verdict_on_policy_says_how_it_is_related_to_the_setting_of_that_name():
    for is_wrong, answer in ((False, "Yes:"), (True, "No:")):
        judged = verdict(0, is_wrong=is_wrong)
        tooltip = step_line(view(record(0), verdicts=[judged]), None).signs[0].tooltip
        assert "the policy set in Setup (refuse)" in tooltip
        assert answer in tooltip


def test_records_can_be_replaced_without_touching_the_line():
    at = computed(0, (2,), [0], predicted=3, next_token=3)
    assert step_line(view(at), None) == step_line(view(replace(at)), None)


def test_a_prompt_in_parts_says_which_part_is_read():
    parts = [computed(n, (0, 1), [2 * n, 2 * n + 1], phase="prefill") for n in range(2)]
    told = [step_line(view(*parts, step=n, chunk=2), None).text for n in range(2)]
    assert told[0].startswith("step 0 of 1 · prefill, chunk 1 · feeds 2 tokens at positions 0–1")
    assert told[1].startswith("step 1 of 1 · prefill, chunk 2 · feeds 2 tokens at positions 2–3")


def test_the_parts_of_a_new_prompt_are_counted_anew():
    first = computed(0, (0,), [0], phase="prefill")
    again = computed(1, (0,), [0], phase="new_prompt")
    rest = computed(2, (1,), [1], phase="prefill")
    told = [step_line(view(first, again, rest, step=n, chunk=1), None).text for n in range(3)]
    parts = [text.split(" · ")[1] for text in told]
    assert parts == ["prefill, chunk 1", "new prompt, chunk 1", "prefill, chunk 2"]


def test_logits_that_are_no_numbers_predict_nothing():
    nothing = np.full(4, np.nan)
    at = computed(0, (2,), [9], predicted=0, next_token=0, logits=nothing)
    text = step_line(view(at), "end_of_text").text
    assert text.endswith(" · its logits are no numbers, out comes 'The' · the text ends here")


def test_drafts_that_are_rejected_are_told_before_what_follows_the_last_one_kept():
    at = computed(0, (0, 1, 2), [4, 5, 6], phase="verify", n_rejected=2, predicted=3, next_token=3)
    assert step_line(view(at), None).text.endswith(
        "feeds 3 tokens at positions 4–6, rejects the last 2 · predicts '·Tom'"
    )


def test_of_several_beams_the_one_that_a_step_is_of_is_named():
    at = computed(1, (2,), [9], predicted=3, next_token=3, request=1)
    text = step_line(view(record(0), at, step=1, n_sequences=2), None).text
    assert text.startswith("step 1 of 1 · decode of beam 1 · feeds '?'")


def test_a_reorder_says_whose_texts_the_beams_go_on_from():
    at = record(0, phase="reorder", parents=(1, 0), token_ids=())
    text = step_line(view(at, n_sequences=2), None).text
    assert text == "step 0 of 0 · reorder · beams go on from the texts of beams 1, 0"
