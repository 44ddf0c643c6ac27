"""Turns the requests of a spec into engine steps, one at a time.

Which token a decode reads, where a prompt is cut into chunks, and when a run is over depend on
what happened before; all of that is here and nowhere else.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import torch

from core.engine.engine import AppendTokens, ProbeRows, RollBack, StepRequest
from core.model.config import ModelConfig
from core.outcome import EndReason, Ok, PositionLimit
from core.probe import probe_rows
from core.record import Phase, StepRecord
from core.spec import (
    Decode,
    NewPrompt,
    Prefill,
    Probe,
    Reorder,
    Request,
    Rollback,
    RunSpec,
    Verify,
)


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A part of a prompt; `continues` the part before it, `reuses` rows of the old text."""

    phase: Phase
    token_ids: tuple[int, ...]
    continues: bool
    reuses: bool = False
    n_pad: int = 0

    @property
    def is_new_text(self) -> bool:
        """Whether what was read before is forgotten."""
        return self.phase == "new_prompt"


_Task = _Chunk | Decode | Verify | Rollback | Probe


class Script:
    """The steps of one run.

    Attributes:
        which: the sequence that the next request is for: there is one.
        generated: (step, token) of each token that was chosen to be read, in order.
        end: why the run is over; None while it goes on.
    """

    def __init__(self, spec: RunSpec, config: ModelConfig) -> None:
        """Start before the first request."""
        self._spec = spec
        self._config = config
        self._tasks: deque[_Task] = deque()
        self._text: list[int] = []
        self._pending: int | None = None
        self._is_forced = False
        self.which = 0
        self.generated: list[tuple[int, int]] = []
        self.end: EndReason | None = "steps"
        self.add(spec.all_requests)

    def add(self, requests: Iterable[Request]) -> None:
        """More requests at the end; a run that ended for lack of steps goes on."""
        for request in requests:
            self._tasks.extend(self._tasks_of(request))
        if self.end == "steps":
            self.end = self._end_before(self._upcoming())

    def next_request(self, step: int, dtype: torch.dtype) -> StepRequest | None:
        """What the engine is asked next; None: the run is over, and `end` says why."""
        if self.end is not None:
            return None
        match self._tasks[0]:
            case _Chunk(phase, token_ids, _) as chunk:
                forced = self._forced_next()
                n_common = _n_common(self._text, token_ids) if chunk.reuses else None
                is_new, n_pad = chunk.is_new_text, chunk.n_pad
                return AppendTokens(phase, token_ids, forced, is_new, n_common, n_pad=n_pad)
            case Decode():
                read = () if self._pending is None else (self._pending,)
                return AppendTokens("decode", read, self._forced_next())
            case Verify(drafts) as verify:
                read = () if self._pending is None else (self._pending,)
                forced = self._forced_next()
                rejected = verify.n_rejected
                return AppendTokens("verify", read + drafts, forced, n_rejected=rejected)
            case Rollback(n):
                is_possible = n <= len(self._text)
                return RollBack(n, self._text[-n] if is_possible else None)
            case Probe() as probe:
                keys, values = probe_rows(self._config, probe, self._spec.seed, step)
                return ProbeRows(torch.tensor(keys).to(dtype), torch.tensor(values).to(dtype))

    def done(self, record: StepRecord) -> None:
        """The engine answered the request that `next_request` gave."""
        task = self._tasks.popleft()
        if not isinstance(record.outcome, Ok):
            self._failed(task, record)
        elif isinstance(task, Rollback):
            del self._text[-task.n :]
            self._pending, self._is_forced = record.next_token, True
        elif not isinstance(task, Probe):
            if self._starts_text(task):
                del self._text[_n_kept(record) :]
            self._text.extend(record.token_ids)
            del self._text[len(self._text) - record.n_rejected :]
            self._pending, self._is_forced = record.next_token, record.is_forced
            if record.next_token is not None and not isinstance(self._upcoming(), _Chunk):
                self.generated.append((record.step, record.next_token))
        if self.end is None:
            self.end = self._end_before(self._upcoming())

    def _tasks_of(self, request: Request) -> Iterable[_Task]:
        if isinstance(request, Reorder):
            return ()  # of one sequence there is no order; the spec refuses it
        if not isinstance(request, Prefill | NewPrompt):
            return (request,)
        ids, size = request.token_ids, self._spec.chunk or len(request.token_ids)
        chunks = [
            _Chunk("prefill", ids[i : i + size], continues=i > 0) for i in range(0, len(ids), size)
        ]
        if isinstance(request, Prefill):
            chunks[0] = replace(chunks[0], n_pad=request.n_pad)
        else:
            chunks[0] = replace(chunks[0], phase="new_prompt", reuses=request.reuse_prefix)
        return chunks

    def _upcoming(self) -> _Task | None:
        return self._tasks[0] if self._tasks else None

    def _starts_text(self, task: _Task) -> bool:
        return isinstance(task, _Chunk) and task.is_new_text

    def _forced_next(self) -> int | None:
        """The token after this step, where the prompt or the spec says it."""
        following = self._tasks[1] if len(self._tasks) > 1 else None
        if isinstance(following, _Chunk):
            return following.token_ids[0]
        n = len(self.generated)
        return self._spec.force_ids[n] if n < len(self._spec.force_ids) else None

    def _failed(self, task: _Task, record: StepRecord) -> None:
        if isinstance(record.outcome, PositionLimit):
            self.end = "position_limit"
        elif self._spec.requests is None:
            self.end = "refused"
        else:
            while isinstance(rest := self._upcoming(), _Chunk) and rest.continues:
                self._tasks.popleft()  # the rest of a prompt that was refused
            if self._starts_text(task):
                del self._text[_n_kept(record) :]
                self._pending = None

    def _end_before(self, task: _Task | None) -> EndReason | None:
        if task is None:
            return "steps"
        if isinstance(task, Decode | Verify) and self._pending is None:
            return "refused"  # nothing was ever read that a token could follow from
        if isinstance(task, Decode | Verify) and self._is_own_end():
            return "end_of_text"
        return None

    def _is_own_end(self) -> bool:
        return not self._is_forced and self._pending == self._config.eos_token_id


def _n_common(text: Sequence[int], token_ids: Sequence[int]) -> int:
    """Tokens that both begin with."""
    pairs = zip(text, token_ids, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _n_kept(record: StepRecord) -> int:
    """Tokens of the old text that a new one goes on from."""
    return len(record.prompt_ids) - len(record.token_ids) if record.prompt_ids else 0
