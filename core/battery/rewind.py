"""Tokens that are taken back and read again give what they gave before."""

from collections.abc import Iterator
from dataclasses import replace

from core.battery.bench import Bench, Found, Pair, another, prompt_then, zipped
from core.battery.case import Case
from core.battery.law import Law
from core.battery.silence import Silent, not_refuse, refused, silent, too_long
from core.outcome import Ok
from core.readouts.words import plural
from core.record import StepRecord
from core.spec import Decode, Prefill, Rollback, Verify

_ANY = (0,)


def _rewind_cases(case: Case) -> Iterator[Case]:
    for n in sorted({1, 2, len(case.then)}):
        if n <= len(case.then):
            yield replace(case, n=n)


def _rewind(case: Case, bench: Bench) -> Found:
    """Read, take the last `n` tokens back, read them again.

    Rows that left cannot come back: then the rollback is refused, and there is nothing to compare.
    After a re-prefill only the last token has the same text before it as the first time.
    """
    n, k, is_over = case.n, len(case.then), len(case.text) > case.capacity
    if why := silent(_not_of(n, k), refused(case, len(case.text))):
        return why
    requests = (*prompt_then(case), Rollback(n), *(Decode() for _ in range(n)))
    force = case.then + _ANY + case.text[len(case.text) - n + 1 :]
    records = bench.run_of(case, requests, force)
    n_first = len(records) - n - 1
    first, back, again = records[:n_first], records[n_first], records[n_first + 1 :]
    if not isinstance(back.outcome, Ok) and is_over:
        why_not = too_long(case, len(case.text))[1]
        return Silent(f"rows left that would have to come back: {why_not}")
    first = first[len(first) - n :]
    if is_over and case.policy == "reprefill":
        return [Pair("the last token, read again", again[-1], first[-1])]
    return zipped("read again", again, first)


def _not_of(n: int, k: int) -> tuple[bool, str]:
    """Fewer than one, or more than were read one by one, are to be taken back."""
    would_do = f"give n=1 to {k}" if k else "give then=1,2,3"
    return not 1 <= n <= k, f"n={n} of the {plural(k, 'token')} in then= are taken back; {would_do}"


def _draft_cases(case: Case) -> Iterator[Case]:
    if case.policy != "refuse" or len(case.then) < 3:
        return
    n_drafts = 2 + len(case.prompt) % 2
    drafts = tuple(another(case, token, 7) for token in case.text[:n_drafts])
    if len(drafts) == n_drafts:
        roomy = replace(case, capacity=len(case.text) + n_drafts + 2, other=drafts)
        for n in range(n_drafts + 1):
            yield replace(roomy, then=case.then[:3], n=n)


def _drafts(case: Case, bench: Bench) -> Found:
    """Verify drafts, keep the first `n`; then go on as if the others had never been read."""
    drafts, n = case.other, case.n
    if why := silent(
        not_refuse(case),
        (len(case.then) != 3, f"then= has {plural(len(case.then), 'token')}; give 3"),
        (not drafts, "other= has no drafts; give other=1,2"),
        (n > len(drafts), f"n={n} of {plural(len(drafts), 'draft')} are kept; give fewer"),
        too_long(case, len(case.text) + len(drafts)),
    ):
        return why
    requests = (Prefill(case.prompt), Decode(), Verify(drafts, n), Decode())
    verified = bench.run_of(case, requests, case.then)
    kept = case.then[:2] + drafts[:n] + case.then[2:]
    plain = bench.run(case, steps=len(kept), force_ids=kept)
    return [
        Pair("the last draft that is kept", _at(verified, -2), _at(plain, -2)),
        Pair("the token after the drafts", _at(verified, -1), _at(plain, -1)),
    ]


def _at(records: list[StepRecord], place: int) -> StepRecord | None:
    return records[place] if len(records) >= -place else None


LAWS = (
    Law(
        "rewind",
        "rewind",
        "tokens taken back and read again give what they gave before",
        _rewind_cases,
        _rewind,
    ),
    Law(
        "rewind-drafts",
        "rewind",
        "drafts that are read and rejected leave no trace",
        _draft_cases,
        _drafts,
    ),
)
