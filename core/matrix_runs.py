"""From the scenario of a fault to a run of it under any policy, with any prompt.

Imports no torch: the window makes the run that a cell stands for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.faults.known import BUILT_IN, KnownFaults
from core.matrix_cell import Cell, Prompt, Task
from core.spec import (
    Decode,
    NewPrompt,
    PolicyName,
    Probe,
    Request,
    Rollback,
    RunSpec,
    Verify,
)

N_MORE = 12
"""Tokens that are read beyond the scenario's: a text needs some length to go wrong."""


@dataclass(frozen=True, slots=True)
class _Column:
    """A policy of the table.

    Attributes:
        policy: as a run names it.
        makes_room: whether rows leave where there is no room.
        n_sinks: slots kept for the first tokens, where the scenario does not say how many.
        reassigns: whether the kept tokens are numbered anew.
    """

    policy: PolicyName
    makes_room: bool = True
    n_sinks: int = 0
    reassigns: bool = False

    def capacity(self, shown: RunSpec, prompt: Prompt, n_more: int) -> int:
        """Slots of a run that reads `n_more` tokens beyond the scenario's."""
        if self.makes_room:
            return shown.capacity if _makes_room(shown) else len(shown.prompt_ids) + 1
        if not _makes_room(shown):
            return shown.capacity + n_more
        return len(prompt.token_ids) + len(shown.all_requests) + n_more

    def sinks(self, shown: RunSpec) -> int:
        """Slots kept for the first tokens."""
        return shown.sinks or self.n_sinks if self.n_sinks else 0


_COLUMNS = {
    "refuse": _Column("refuse", makes_room=False),
    "window": _Column("window"),
    "reprefill": _Column("reprefill"),
    "sinks": _Column("sinks", n_sinks=2),
    "ranks": _Column("sinks", n_sinks=2, reassigns=True),
}
POLICIES = tuple(_COLUMNS)


def broken_spec(of: Task | Cell, prompt: Prompt, known: KnownFaults = BUILT_IN) -> RunSpec:
    """The run of a cell with a prompt: what is measured, and what a person opens to see it.

    Raises:
        SpecError: the scenario's requests do not go with the policy.
        FaultError: an unknown fault.
    """
    return replace(right_spec(of, prompt, known), faults=(known.use(of.fault),))


def right_spec(of: Task | Cell, prompt: Prompt, known: KnownFaults = BUILT_IN) -> RunSpec:
    """The same without the fault.

    Under its own policy it is the scenario of the fault (of a combination, the first one's) with
    another prompt. Under another one, rows leave from the second decode step on, or, where none
    may, there is room for all.

    Raises:
        SpecError: the scenario's requests do not go with the policy.
        FaultError: an unknown fault.
    """
    shown = known.find(of.fault)[0].shows_in.spec(lambda _: prompt.token_ids)
    column = _COLUMNS[of.policy]
    is_own = column.policy == shown.policy
    n_more = N_MORE if not is_own or _may_be_longer(shown) else 0
    requests = _requests(shown, prompt, n_more)
    return replace(
        shown,
        model=of.model,
        steps=shown.steps + n_more if requests is None else shown.steps,
        requests=requests,
        force_ids=_forced(shown, prompt),
        policy=column.policy,
        capacity=column.capacity(shown, prompt, n_more),
        sinks=column.sinks(shown),
        reassign_positions=column.reassigns,
    )


def _makes_room(shown: RunSpec) -> bool:
    return _COLUMNS[shown.policy].makes_room


def _may_be_longer(shown: RunSpec) -> bool:
    """Whether more decodes leave the scenario what it is: nothing in it is refused."""
    if _makes_room(shown):
        return True
    if any(isinstance(request, Rollback | Probe) for request in shown.all_requests):
        return False
    return sum(_n_rows(request, shown) for request in shown.all_requests) <= shown.capacity


def _n_rows(request: Request, shown: RunSpec) -> int:
    match request:
        case Decode():
            return 1
        case Verify(token_ids):
            return 1 + len(token_ids)
        case NewPrompt():
            return 0
        case _:
            return len(shown.prompt_ids)


def _requests(shown: RunSpec, prompt: Prompt, n_more: int) -> tuple[Request, ...] | None:
    if shown.requests is None:
        return None
    drafts = prompt.rest[2:3]
    requests = [
        replace(request, token_ids=drafts + request.token_ids[len(drafts) :])
        if isinstance(request, Verify)
        else request
        for request in shown.requests
    ]
    return (*requests, *(Decode() for _ in range(n_more)))


def _forced(shown: RunSpec, prompt: Prompt) -> tuple[int, ...]:
    """The rest of the question, so that it is read whatever is broken."""
    rest, requests = prompt.rest, shown.all_requests
    if shown.n_sequences > 1:
        return ()
    if any(isinstance(request, Verify) for request in requests):
        return rest[:2] + rest[3:]  # the third is a draft
    return rest[: _n_before_the_last_text(requests)] + rest


def _n_before_the_last_text(requests: Sequence[Request]) -> int:
    """Tokens that are chosen before the last new prompt."""
    starts = [i for i, request in enumerate(requests) if isinstance(request, NewPrompt)]
    before = requests[: starts[-1]] if starts else ()
    return sum(isinstance(request, Decode) for request in before)
