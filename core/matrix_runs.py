"""From the scenario of a fault to a run of it under any policy, with any prompt.

Imports no torch: the window makes the run that a cell stands for.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from core.faults.known import BUILT_IN, KnownFaults
from core.matrix_cell import Cell, Prompt, Task
from core.spec import (
    Decode,
    NewPrompt,
    Probe,
    Request,
    Rollback,
    RunSpec,
    Verify,
)

POLICIES = ("refuse", "window", "reprefill", "sinks", "ranks")
"""Under "ranks" there are sinks, and the kept tokens are numbered anew."""
N_MORE = 12
"""Tokens that are read beyond the scenario's: a text needs some length to go wrong."""
_N_SINKS = 2


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
    changes = _policy_settings(shown, of.policy)
    n_steps = len(shown.all_requests) - 1
    is_own = changes["policy"] == shown.policy
    n_more = N_MORE if not is_own or _may_be_longer(shown) else 0
    if changes["policy"] == "refuse" and not is_own:
        changes["capacity"] = len(prompt.token_ids) + n_steps + n_more + 1
    elif changes["policy"] == "refuse":
        changes["capacity"] = shown.capacity + n_more
    requests = _requests(shown, prompt, n_more)
    return replace(
        shown,
        model=of.model,
        steps=shown.steps + n_more if requests is None else shown.steps,
        requests=requests,
        force_ids=_forced(shown, prompt),
        **changes,
    )


def _policy_settings(shown: RunSpec, policy: str) -> dict[str, Any]:
    name = "sinks" if policy == "ranks" else policy
    if name == shown.policy and policy != "ranks":
        return {"policy": name, "capacity": shown.capacity}
    keeps_sinks = name == "sinks"
    is_bounded = shown.policy != "refuse"
    return {
        "policy": name,
        "sinks": (shown.sinks or _N_SINKS) if keeps_sinks else 0,
        "reassign_positions": policy == "ranks",
        "capacity": shown.capacity if is_bounded else len(shown.prompt_ids) + 1,
    }


def _may_be_longer(shown: RunSpec) -> bool:
    """Whether more decodes leave the scenario what it is: nothing in it is refused."""
    if shown.policy != "refuse":
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
