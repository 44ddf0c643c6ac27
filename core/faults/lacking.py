"""What a fault needs before it can show, looked for in the records of a run.

Each gives the reason why a fault that needs it has shown nothing, with the run's numbers; None:
the run has what is needed, so the reason is another one.
"""

from collections.abc import Sequence
from itertools import pairwise

from core.outcome import Refused
from core.record import StepRecord


def full_cache(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows in the last slot only."""
    if _n_refused(records):
        return None
    capacity = records[-1].ledger.capacity
    most = max(record.ledger.length for record in records)
    return f"the cache never filled: {most} of {capacity} slots" if most < capacity else None


def refusal(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows where something is refused only."""
    if _n_refused(records):
        return None
    capacity = records[-1].ledger.capacity
    most = max(record.ledger.length for record in records)
    return f"nothing was refused: at most {most} of {capacity} slots were used"


def earlier_tokens(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows only in a step which comes after others in the same text."""
    if any(record.slots.size and record.past_len for record in records):
        return None
    return "no step read tokens after earlier ones: the prompt was read at once, from token 0 on"


def unwritten_slots(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows only while a slot was never written."""
    computed = [record for record in records if record.slots.size]
    if not computed or any(r.ledger.length < r.ledger.capacity for r in computed):
        return None
    capacity = records[-1].ledger.capacity
    return f"no slot was left unwritten: {capacity} of {capacity} at every step"


def second_decoded_token(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows when the second token is decoded."""
    n = sum(record.phase == "decode" and bool(record.slots.size) for record in records)
    return None if n > 1 else f"it takes two decoded tokens, and there {_are(n)}"


def uneven_append(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows only where keys and values of different number are appended."""
    if any(record.phase == "probe" for record in records):
        return None
    n = len(records)
    return (
        f"each of the {n} appends had as many keys as values"
        if n > 1
        else ("the one append had as many keys as values")
    )


def _n_refused(records: Sequence[StepRecord]) -> int:
    return sum(isinstance(record.outcome, Refused) for record in records)


def _are(n: int) -> str:
    return "was one" if n == 1 else f"were {n or 'none'}"


def rows_that_leave(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows where rows leave to make room."""
    if any(_evicts(record) for record in records):
        return None
    capacity = records[-1].ledger.capacity
    most = max(record.ledger.length for record in records)
    if _n_refused(records):
        return f"no row left to make room: with {most} of {capacity} slots used the cache refused"
    return f"no row left to make room: at most {most} of {capacity} slots were used"


def step_after_rows_left(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows in the step after one in which rows left."""
    if any(_evicts(a) and b.slots.size for a, b in pairwise(records)):
        return None
    return rows_that_leave(records) or "no step read tokens after rows had left"


def full_window(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows once a window holds as many rows as it can."""
    capacity = records[-1].ledger.capacity
    most = max(len(record.slots) + (record.past_len or 0) for record in records)
    if _n_refused(records):
        return f"there was no window: with {most} of {capacity} slots used the cache refused"
    return f"the window never filled: {most} tokens of {capacity}" if most < capacity else None


def long_chunk(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows where several tokens are read at once while rows leave."""
    if any(_evicts(record) and len(record.slots) > 1 for record in records):
        return None
    return "no step read several tokens while rows left"


def several_tokens_at_once(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows where one step reads several tokens."""
    if any(len(record.slots) > 1 for record in records):
        return None
    return "every step read one token"


def ring_partly_filled(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows in a step after others, while there are unwritten slots."""
    lacking = earlier_tokens(records)
    if lacking is not None:
        return lacking
    return unwritten_slots(records)


def grouped_heads(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows only where several query heads share one of several key heads."""
    computed = [record.layers[0] for record in records if record.layers]
    if not computed:
        return "no step computed anything"
    n_query, n_kv = computed[0].queries.shape[0], computed[0].new_keys.shape[0]
    if 1 < n_kv < n_query:
        return None
    return f"the model has {n_query} query heads and {n_kv} key heads"


def computed_step(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows wherever anything is computed."""
    return None if any(record.slots.size for record in records) else "no step computed anything"


def second_prompt(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows in a text after the first."""
    if any(record.phase == "new_prompt" for record in records):
        return None
    return "there was no new prompt: the cache was never reset"


def _evicts(record: StepRecord) -> bool:
    return record.n_short > 0 and bool(record.slots.size)


def too_many_at_once(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows where several rows come and only some of them fit."""
    for before, record in pairwise(records):
        ledger = before.ledger
        n_new = max(len(record.token_ids), *record.n_probed)
        if ledger.length < ledger.capacity < ledger.length + n_new:
            return None
    return "no append brought more rows than were free while some were"


def rejected_drafts(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows where drafts were taken back."""
    if any(record.n_rejected and record.slots.size for record in records):
        return None
    return "no draft was taken back"


def prefix_hit(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows where all of a new prompt is held already."""
    if any(len(record.prompt_ids) > 0 and len(record.token_ids) == 1 for record in records):
        return None
    return "no new prompt was held already"


def growth(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows where a buffer grows."""
    sizes = {record.n_allocated for record in records}
    if len(sizes) > 1:
        return None
    if sizes == {0}:
        return "the buffer has all its rows from the start"
    return f"the buffer never grew: {max(sizes)} rows were enough"


def padding(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows where there is padding."""
    return None if any(record.n_padding for record in records) else "there was no padding"


def later_chunk(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows where several tokens are read after others."""
    if any(len(record.slots) > 1 and record.past_len for record in records):
        return None
    return "no step read several tokens after earlier ones"


def reordered_beams(records: Sequence[StepRecord]) -> str | None:
    """A fault that shows where a beam goes on from another one."""
    if any(record.parents != tuple(range(len(record.parents))) for record in records):
        return None
    return "no beam went on from another one"
