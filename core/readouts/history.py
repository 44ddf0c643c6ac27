"""What the records up to a step say of the text and of the slots; shared by the readouts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import ABSENT, IntArray
from core.outcome import Ok
from core.record import StepRecord

PROMPT_PHASES = ("prefill", "new_prompt")


@dataclass(frozen=True, slots=True)
class ReadToken:
    """A token of the text as it stands after a step.

    Attributes:
        token_id: which token.
        step: the step that read it.
        is_prompt: whether a prompt brought it; else a step before chose it.
        is_forced: whether that choice came from outside.
    """

    token_id: int
    step: int
    is_prompt: bool
    is_forced: bool


def text_after(records: Sequence[StepRecord], step: int) -> dict[int, ReadToken]:
    """Token index to token of the text that was read when `step` ended, in ascending order.

    Of several sequences it is the text of the one that the step was of.
    """
    texts: dict[int, dict[int, ReadToken]] = {}
    forced: dict[int, bool] = {}
    for record in records[: step + 1]:
        text = texts.setdefault(record.request, {})
        for token_index in _taken_out(record, text):
            del text[token_index]
        if not isinstance(record.outcome, Ok):
            continue
        if record.parents:
            texts = {which: dict(texts[p]) for which, p in enumerate(record.parents)}
            forced = {which: forced.get(p, False) for which, p in enumerate(record.parents)}
        _read_into(text, record, is_forced=forced.get(record.request, False))
        if record.next_token is not None:
            forced[record.request] = record.is_forced
    return texts[records[step].request]


def _taken_out(record: StepRecord, text: Mapping[int, ReadToken]) -> list[int]:
    """Tokens that are no part of the text from a step on."""
    if record.phase == "new_prompt":
        return [token for token in text if token >= n_kept_tokens(record)]
    if record.phase == "rollback" and isinstance(record.outcome, Ok):
        return [*text][-record.n_rolled_back :]
    return []


def _read_into(text: dict[int, ReadToken], record: StepRecord, *, is_forced: bool) -> None:
    """Put the tokens that a step read, and kept, into the text."""
    is_prompt = record.phase in PROMPT_PHASES
    n_kept = len(record.token_index) - record.n_rejected
    numbers = zip(record.token_index[:n_kept], record.token_ids[:n_kept], strict=True)
    for token_index, token_id in numbers:
        text[token_index] = ReadToken(token_id, record.step, is_prompt, is_forced and not is_prompt)


def n_kept_tokens(record: StepRecord) -> int:
    """Tokens of the old text that a new prompt goes on from."""
    return record.token_index[0] if record.prompt_ids else 0


def token_numbers(
    records: Sequence[StepRecord], step: int
) -> Callable[[int | None], tuple[int | None, int | None]]:
    """Finds position id and token id of a token index: as it is held, else as it was last read.

    None, the token index of a row of no token, has neither.
    """
    ledger = records[step].ledger
    columns = (ledger.token_index, ledger.position_id, ledger.token_id)
    held = {
        token: (position, token_id)
        for token, position, token_id in zip(*(c.tolist() for c in columns), strict=True)
        if token != ABSENT
    }

    def find(token_index: int | None) -> tuple[int | None, int | None]:
        if token_index is None:
            return None, None
        return held.get(token_index) or _as_read(records[: step + 1], token_index)

    return find


def _as_read(records: Sequence[StepRecord], token_index: int) -> tuple[int | None, int | None]:
    for record in reversed([r for r in records if r.request == records[-1].request]):
        if isinstance(record.outcome, Ok) and token_index in record.token_index:
            place = record.token_index.index(token_index)
            return record.position_ids[place], record.token_ids[place]
    return None, None


def computed_tokens(record: StepRecord) -> range:
    """Token indices of the T tokens that the step computed: read again, then new.

    Padding that comes before token 0 counts down from −1.
    """
    if not record.is_computed:
        return range(0)
    stop = record.token_index[-1] + 1
    return range(stop - len(record.slots), stop)


def newest_query(record: StepRecord) -> int:
    """Place of the newest query among the T tokens that a step computed.

    Where drafts were rejected it is the last token that is kept: the logits are those after it.
    """
    return len(record.slots) - 1 - record.n_rejected


def newest_token(record: StepRecord) -> int:
    """Token index of the newest query, of the last token that a step read and kept."""
    return record.token_index[-1 - record.n_rejected]


def rejected_tokens(record: StepRecord) -> tuple[int, ...]:
    """Token indices of the drafts that a step read and rejected."""
    return record.token_index[len(record.token_index) - record.n_rejected :]


@dataclass(frozen=True, slots=True, eq=False)
class SlotHistory:
    """Which slots a run has used up to a step.

    Attributes:
        n_slots: slots to show: the capacity, or more where a step used or counted more.
        first_step: [n_slots] step that first put a token there; ABSENT: none did.
    """

    n_slots: int
    first_step: IntArray

    def was_used_by(self, step: int) -> np.ndarray:
        """[n_slots] whether a step up to this one put a token there."""
        return (self.first_step != ABSENT) & (self.first_step <= step)
