"""What is read in a driven run, and its specification in our own terms."""

from collections.abc import Iterator

import numpy as np

from core.contract.plan import Plan
from core.contract.run_plan import Act, RunPlan
from core.spec import Decode, NewPrompt, PolicyName, Prefill, Probe, Request, Rollback, RunSpec

SENTENCE = b"The cat sat on the mat, and the dog lay by the door. "
"""Token ids of the small models are bytes."""


def text_of(run: RunPlan, vocab_size: int) -> tuple[int, ...]:
    """[N] the tokens that are offered in all steps: those of the model test, or of a sentence."""
    n = run.n_tokens
    if run.is_of_model_test:
        return tuple(np.random.default_rng(0).integers(0, vocab_size, n).tolist())
    return tuple((SENTENCE * (n // len(SENTENCE) + 1))[:n])


def policy_of(plan: Plan, run: RunPlan) -> tuple[PolicyName, int]:
    """What a class of this kind is to do when it is full, and at how many rows it is."""
    if plan.policy == "window":
        return ("sinks" if run.sinks else "window"), run.capacity
    if plan.policy == "refuse":
        return "refuse", run.capacity
    n_probed = sum(max(act.n, act.n_values) for act in run.acts if act.name == "probe")
    return "refuse", max(run.capacity, run.n_tokens + n_probed)


def spec_of(plan: Plan, run: RunPlan, vocab_size: int) -> RunSpec:
    """The same run as a specification, by which its steps are judged."""
    text = text_of(run, vocab_size)
    policy, capacity = policy_of(plan, run)
    first = next(act.n for act in run.acts if act.name == "read")
    requests = tuple(_requests(run.acts, text))
    return RunSpec(
        model=run.model,
        prompt_ids=text[:first],
        steps=0,
        policy=policy,
        capacity=capacity,
        sinks=run.sinks or 0,
        requests=requests,
    )


def _requests(acts: tuple[Act, ...], text: tuple[int, ...]) -> Iterator[Request]:
    seen, is_new, at = 0, False, 0
    for act in acts:
        if act.name == "read":
            ids, at = text[at : at + act.n], at + act.n
            is_prompt = act.n > 1 or not seen
            yield NewPrompt(ids) if is_new else Prefill(ids) if is_prompt else Decode()
            seen, is_new = (0 if is_new else seen) + act.n, False
        elif act.name == "probe":
            yield Probe(act.n, act.n_values)
        elif act.name == "reset":
            is_new = True
        elif act.n < seen:
            yield Rollback(seen - act.n)
            seen = act.n
