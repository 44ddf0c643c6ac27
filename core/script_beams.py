"""Turns the requests of several sequences into engine steps, one at a time.

The sequences are the beams of a beam search: all read the same prompt, and sequence b goes on with
the b-th best token after it. A prefill and a decode are one step for each of them, in turn; a
reorder is one step for all.
"""

from collections import deque
from collections.abc import Iterable

import torch

from core.engine.engine import AppendTokens, ReorderBeams, StepRequest
from core.errors import SpecError
from core.model.config import ModelConfig
from core.outcome import EndReason, Ok, PositionLimit
from core.record import StepRecord
from core.spec import Decode, Prefill, Reorder, Request, RunSpec

_Task = tuple[int, Prefill | Decode] | Reorder


class BeamScript:
    """The steps of one run of several sequences; the same to a session as `core.script.Script`.

    Attributes:
        which: the sequence that the next request is for.
        generated: (step, token) of each token that was chosen to be read, in order.
        end: why the run is over; None while it goes on.
    """

    def __init__(self, spec: RunSpec, config: ModelConfig) -> None:
        """Start before the first request."""
        self._spec = spec
        self._config = config
        self._tasks: deque[_Task] = deque()
        self._next: list[tuple[int, bool]] = [(0, True)] * spec.n_sequences
        self.which = 0
        self.generated: list[tuple[int, int]] = []
        self.end: EndReason | None = "steps"
        self.add(spec.all_requests)

    def add(self, requests: Iterable[Request]) -> None:
        """More requests at the end; a run that ended for lack of steps goes on."""
        for request in requests:
            if isinstance(request, Reorder):
                self._tasks.append(request)
            elif isinstance(request, Prefill | Decode):
                self._tasks.extend((which, request) for which in range(self._spec.n_sequences))
            else:
                raise SpecError("several sequences take prefill, decode and reorder only")
        if self.end == "steps":
            self.end = self._end_before()

    def next_request(self, step: int, dtype: torch.dtype) -> StepRequest | None:
        """What the engine of `which` is asked next; None: the run is over."""
        if self.end is not None:
            return None
        task = self._tasks[0]
        if isinstance(task, Reorder):
            self.which = 0
            return ReorderBeams(task.parents)
        self.which, request = task
        n = len(self.generated)
        forced = self._spec.force_ids[n] if n < len(self._spec.force_ids) else None
        if isinstance(request, Prefill):
            return AppendTokens("prefill", request.token_ids, forced, rank=self.which)
        return AppendTokens("decode", (self._next[self.which][0],), forced)

    def done(self, record: StepRecord) -> None:
        """The engine answered the request that `next_request` gave."""
        task = self._tasks.popleft()
        if isinstance(task, Reorder):
            self._next = [self._next[parent] for parent in task.parents]
        elif not isinstance(record.outcome, Ok):
            is_limit = isinstance(record.outcome, PositionLimit)
            self.end = "position_limit" if is_limit else "refused"
        elif record.next_token is not None:
            self._next[task[0]] = record.next_token, record.is_forced
            self.generated.append((record.step, record.next_token))
        if self.end is None:
            self.end = self._end_before()

    def _end_before(self) -> EndReason | None:
        if not self._tasks:
            return "steps"
        task = self._tasks[0]
        if not isinstance(task, Reorder) and isinstance(task[1], Decode):
            token, is_forced = self._next[task[0]]
            if not is_forced and token == self._config.eos_token_id:
                return "end_of_text"
        return None
