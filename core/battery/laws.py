"""All laws, and the cases on which they are checked."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from core.battery import (
    chunks,
    eviction,
    neighbours,
    new_prompt,
    one_by_one,
    restore,
    rewind,
    slots,
)
from core.battery.case import Case
from core.battery.law import Law
from core.battery.names import PROPERTIES
from core.errors import SpecError
from core.model.loading import load_model

LAWS: tuple[Law, ...] = (
    *chunks.LAWS,
    *one_by_one.LAWS,
    *restore.LAWS,
    *rewind.LAWS,
    *slots.LAWS,
    *new_prompt.LAWS,
    *neighbours.LAWS,
    *eviction.LAWS,
)
POLICIES = ("refuse", "window", "reprefill", "sinks", "ranks")
"""Under "ranks" the kept tokens are numbered anew."""
N_THEN = 3
N_LAYERS = 2
"""One layer hides much: its keys and values depend on token and position alone. Two hide nothing
that four show."""


def laws_of(names: Sequence[str]) -> tuple[Law, ...]:
    """The laws of these names, of properties or of single laws; without names, all.

    Raises:
        SpecError: an unknown name.
    """
    known = {*PROPERTIES, *(law.id for law in LAWS)}
    for name in names:
        if name not in known:
            all_names = ", ".join(dict.fromkeys([*PROPERTIES, *(law.id for law in LAWS)]))
            raise SpecError(f"--only {name!r} is not known; there are {all_names}")
    return tuple(law for law in LAWS if not names or {law.id, law.property} & {*names})


def cases_of(
    law: Law,
    models: Sequence[str],
    seed: int,
    most: int | None = None,
    least_layers: int = 1,
) -> list[Case]:
    """The cases of a law around every boundary; `most` of them, drawn by the seed.

    Of each model the first two layers are run, and never fewer than `least_layers`: a fault that
    acts in a layer of its own needs that layer.
    """
    plain = plain_cases(models, seed, max(N_LAYERS, least_layers))
    cases = (_named(law, case) for start in plain for case in law.cases(start))
    cases = [case for case in dict.fromkeys(cases) if case.layers >= least_layers]
    if most is not None and len(cases) > most:
        cases = random.Random(f"{seed}/{law.id}").sample(cases, most)
    return cases


def plain_cases(models: Sequence[str], seed: int, n_layers: int = N_LAYERS) -> Iterator[Case]:
    """A prompt of 1, W − 1, W, W + 1 and 2 W tokens and three more, under every policy."""
    for model in models:
        config = load_model(model).config
        for policy in POLICIES:
            if policy == "ranks" and config.scheme == "learned":
                continue
            rng = random.Random(f"{seed}/{model}/{policy}")
            window = rng.randint(3, 5)
            for n in sorted({1, window - 1, window, window + 1, 2 * window}):
                text = [rng.randrange(min(256, config.vocab_size)) for _ in range(n + N_THEN)]
                yield Case(
                    law="",
                    model=model,
                    layers=min(n_layers, config.n_layers),
                    policy="sinks" if policy == "ranks" else policy,
                    capacity=window,
                    sinks=rng.randint(1, window - 2) if policy in ("sinks", "ranks") else 0,
                    ranks=int(policy == "ranks"),
                    prompt=tuple(text[:n]),
                    then=tuple(text[n:]),
                )


def _named(law: Law, case: Case) -> Case:
    return replace(case, law=law.id)
