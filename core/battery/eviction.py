"""Rows leave neither too early nor too late."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from core.arrays import BoolArray
from core.battery.bench import Bench, Broken, Found, Pair, another, zipped
from core.battery.case import Case
from core.battery.law import Law
from core.battery.silence import not_refuse, refused, silent, too_long
from core.outcome import Ok
from core.spec import Decode, Prefill, Rollback

_ANY = (0,)


def _early_cases(case: Case) -> Iterator[Case]:
    n_then = case.capacity - len(case.prompt)
    if n_then >= 0:
        full = replace(case, then=case.then[:n_then])
        yield full
        if len(case.prompt) > 2:
            yield replace(full, chunk=2)


def _early(case: Case, bench: Bench) -> Found:
    """A text that has room gives what it gives in a roomy cache that lets nothing go."""
    if why := silent(too_long(case, len(case.text))):
        return why
    roomy = bench.run(
        case, policy="refuse", sinks=0, reassign_positions=False, capacity=2 * case.capacity + 3
    )
    return zipped("before anything must leave", bench.run(case), roomy)


def _refused_cases(case: Case) -> Iterator[Case]:
    n_then = case.capacity - len(case.prompt)
    if case.policy == "refuse" and 0 <= n_then <= len(case.then):
        yield replace(case, then=case.then[:n_then])


def _refused(case: Case, bench: Bench) -> Found:
    """A full cache refuses one token more, and goes on as if it had never been asked."""
    n_text = len(case.text)
    if why := silent(
        not_refuse(case),
        (n_text < 2, "the text has 1 token; give 2 or more"),
        (n_text != case.capacity, f"{n_text} tokens and capacity={case.capacity}; give as many"),
    ):
        return why
    read = (Prefill(case.prompt), *(Decode() for _ in case.then))
    back = (Rollback(1), Decode())
    force = case.then + _ANY
    asked = bench.run_of(case, (*read, Decode(), *back), force)
    plain = bench.run_of(case, (*read, *back), force)
    attempt = asked.pop(-3) if len(asked) > len(back) else None
    if attempt is None or isinstance(attempt.outcome, Ok):
        return [Broken(f"a cache of {case.capacity} slots let token {case.capacity} in")]
    last = plain[-3]
    if attempt.reported_length != last.reported_length:
        return [
            Broken(
                f"the length is {attempt.reported_length} after a refusal, {last.reported_length} "
                "before it"
            )
        ]
    return zipped("after a refusal", asked, plain)


def _reach_cases(case: Case) -> Iterator[Case]:
    for layers in sorted({max(1, case.layers - 1), case.layers}):
        few = replace(case, layers=layers)
        reach = _reach(few)
        edges = {0, case.sinks - 1, case.sinks, int(reach.argmax()), int(reach.argmin())}
        later = np.flatnonzero(reach[case.sinks :])
        edges |= {case.sinks + int(later[0]) - i for i in (0, 1)} if len(later) else set()
        for n in sorted(edge for edge in edges if 0 <= edge < len(case.text)):
            yield replace(few, n=n)


def _reaches(case: Case, bench: Bench) -> Found:
    """Another token at place `n` changes the last logits exactly if they can still know of it."""
    text, n = case.text, case.n
    if why := silent(
        (n >= len(text), f"n={n} names no token; give n=0 to {len(text) - 1}"),
        refused(case, len(text)),
        (
            case.sinks >= case.capacity,
            f"sinks={case.sinks} fill capacity={case.capacity}; give at most {case.capacity - 1}",
        ),
        (not bench.is_fine, "16 bits are too few to see a far token; give --dtype float32"),
    ):
        return why
    changed = (*text[:n], another(case, text[n], 101), *text[n + 1 :])
    k = len(case.prompt)
    before = bench.run(case)[-1]
    after = bench.run(case, prompt_ids=changed[:k], force_ids=changed[k:])[-1]
    if before.logits is None or after.logits is None:
        return [Pair("the last step", before, after, logits_only=True)]
    gap, band = bench.differ(before, after)
    is_held, last = bool(_reach(case)[n]), len(text) - 1
    if gap > 0.0 if is_held else gap <= band:
        return []
    if not is_held:
        found = f"token {n} has left, and still moves the logits of token {last}: {gap:.3g}"
        return [Broken(found)]
    return [Broken(f"token {n} is held, and does not move the logits of token {last}")]


def _reach(case: Case) -> BoolArray:
    """[tokens] whether the last token can know of each, by its own rows or those of others."""
    n, capacity = len(case.text), case.capacity
    query, key = np.arange(n)[:, None], np.arange(n)
    if case.policy == "refuse":
        return np.ones(n, dtype=bool)
    if case.policy == "reprefill":
        return key >= n - capacity
    sees = (key <= query) & ((key > query - (capacity - case.sinks)) | (key < case.sinks))
    reach = sees[-1]
    for _ in range(case.layers - 1):
        reach = (reach[:, None] & sees).any(axis=0)
    return reach


def _length_cases(case: Case) -> Iterator[Case]:
    yield case


def _length(case: Case, bench: Bench) -> Found:
    """After n tokens the cache says that it holds n rows, and its capacity at most."""
    n_read = 0
    found: list[Broken] = []
    for record in bench.run(case):
        if isinstance(record.outcome, Ok):
            n_read += len(record.token_ids)
        wanted, told = min(n_read, case.capacity), record.reported_length
        if told != wanted:
            found.append(Broken(f"after {n_read} tokens the length is {told}, not {wanted}"))
    return found


LAWS = (
    Law(
        "eviction-early",
        "eviction",
        "as long as there is room, policy and capacity change nothing",
        _early_cases,
        _early,
    ),
    Law(
        "eviction-refused",
        "eviction",
        "a full cache refuses one token more, and the refusal leaves no trace",
        _refused_cases,
        _refused,
    ),
    Law(
        "eviction-reach",
        "eviction",
        "a token moves later logits exactly as long as the policy keeps it",
        _reach_cases,
        _reaches,
    ),
    Law(
        "eviction-length",
        "eviction",
        "the length is the number of tokens read, and the capacity at most",
        _length_cases,
        _length,
    ),
)
