"""Other runs that begin as this one did: with another token, or with a fault from a step on."""

from collections.abc import Sequence
from dataclasses import replace

from app.draft import Draft
from core.record import StepRecord
from core.spec import FaultUse, RunSpec

_PROMPT_PHASES = ("prefill", "new_prompt")


def with_token(
    draft: Draft, spec: RunSpec, records: Sequence[StepRecord], step: int, token_id: int
) -> Draft | None:
    """The same, but after `step` the engine reads `token_id`; None: that step chooses no token."""
    place = chosen_at(records, step, n_prompt=len(spec.prompt_ids))
    if place is None:
        return None
    forced = list(spec.force_ids)
    forced.extend([None] * (place + 1 - len(forced)))
    forced[place] = token_id
    return replace(draft, force_ids=tuple(forced), rest="")


def with_fault_from(draft: Draft, use: FaultUse, step: int) -> Draft:
    """The same with a fault that acts from `step` on."""
    others = tuple(other for other in draft.faults if other.id != use.id)
    return replace(draft, faults=(*others, replace(use, first_step=step)))


def chosen_at(records: Sequence[StepRecord], step: int, n_prompt: int) -> int | None:
    """Which of the generated tokens the step gave, from 0; None: it gave none.

    A part of a prompt is followed by the next part, not by a token that was chosen.
    """
    if not 0 <= step < len(records) or not _chooses(records, step, n_prompt):
        return None
    return sum(_chooses(records, earlier, n_prompt) for earlier in range(step))


def _chooses(records: Sequence[StepRecord], step: int, n_prompt: int) -> bool:
    record = records[step]
    if record.next_token is None or record.phase not in (*_PROMPT_PHASES, "decode"):
        return False
    if step + 1 < len(records):
        return records[step + 1].phase not in _PROMPT_PHASES
    n_read = sum(len(earlier.token_ids) for earlier in records)
    return record.phase == "decode" or n_read >= n_prompt
