"""A new prompt after an old one starts afresh."""

from collections.abc import Iterator
from dataclasses import replace

from core.battery.bench import Bench, Found, another, prompt_then, zipped
from core.battery.case import Case
from core.battery.law import Law
from core.battery.silence import Silent, in_chunks, not_refuse, silent, too_long
from core.spec import Decode, NewPrompt, Prefill

_ANY = (0,)


def _cases(case: Case) -> Iterator[Case]:
    most = case.capacity if case.policy == "refuse" else 2 * case.capacity
    for n_old in sorted({1, most}):
        old = tuple(another(case, 7 * i, 3) for i in range(n_old))
        yield replace(case, other=old, chunk=0 if n_old == 1 else min(2, len(case.prompt)))


def _fresh(case: Case, bench: Bench) -> Found:
    if not case.other:
        return Silent("other= has no old text; give other=1,2,3")
    old = (Prefill(case.other), Decode())
    new = (NewPrompt(case.prompt), *(Decode() for _ in case.then))
    records = bench.run_of(case, (*old, *new), _ANY + case.then)
    fresh = bench.run_of(case, prompt_then(case), case.then)
    first = next((i for i, r in enumerate(records) if r.phase == "new_prompt"), len(records))
    return zipped("after a new prompt", records[first:], fresh)


def _reuse_cases(case: Case) -> Iterator[Case]:
    if case.policy != "refuse" or len(case.prompt) > case.capacity:
        return
    n_prompt = len(case.prompt)
    other = tuple(another(case, token, 1) for token in case.then[:1])
    roomy = replace(case, other=other, capacity=max(case.capacity, n_prompt + len(other) + 1))
    for n_shared in sorted({0, n_prompt - 1, n_prompt}):
        yield replace(roomy, n=n_shared)


def _reused(case: Case, bench: Bench) -> Found:
    """The old text begins with the first `n` tokens of the new prompt, whose rows stay."""
    old = case.prompt[: case.n] + case.other
    n_prompt = len(case.prompt)
    if why := silent(
        not_refuse(case),
        in_chunks(case),
        (not old, "n=0 and other= has no token: there is no old text; give n=1"),
        (case.n > n_prompt, f"n={case.n} of {n_prompt} tokens are shared; give at most {n_prompt}"),
        too_long(case, max(len(old) + 1, n_prompt)),
    ):
        return why
    new = (NewPrompt(case.prompt, reuse_prefix=True), *(Decode() for _ in case.then))
    records = bench.run_of(case, (Prefill(old), Decode(), *new), _ANY + case.then)
    fresh = bench.run_of(case, prompt_then(case), case.then)
    return zipped("after a prompt that was known in part", records[2:], fresh)


LAWS = (
    Law(
        "new-prompt",
        "new-prompt",
        "a new prompt after an old text gives what it gives in a fresh cache",
        _cases,
        _fresh,
    ),
    Law(
        "new-prompt-reuse",
        "new-prompt",
        "so it does where the rows of a common beginning stay",
        _reuse_cases,
        _reused,
    ),
)
