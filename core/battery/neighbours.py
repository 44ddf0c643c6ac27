"""A row gives alone what it gives beside others."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from core.battery.bench import Bench, Found, Pair, zipped
from core.battery.case import Case, Ids
from core.battery.law import Law
from core.battery.silence import in_chunks, not_refuse, silent, too_long
from core.readouts.words import plural
from core.record import StepRecord
from core.spec import Decode, Prefill, Reorder

_N_AFTER = 2


def _padding_cases(case: Case) -> Iterator[Case]:
    if case.policy == "refuse":
        for n in (1, 3):
            yield replace(case, n=n, capacity=max(case.capacity, len(case.text)))


def _padded(case: Case, bench: Bench) -> Found:
    """The prompt behind `n` rows of padding, as in a batch with a longer one."""
    if why := silent(
        not_refuse(case),
        in_chunks(case),
        (case.n < 1, "n=0 is no padding; give n=1 or more"),
        too_long(case, len(case.text)),
    ):
        return why
    requests = (Prefill(case.prompt, case.n), *(Decode() for _ in case.then))
    beside = bench.run(
        case, requests=requests, force_ids=case.then, capacity=case.capacity + case.n
    )
    return zipped("behind padding", beside, bench.run(case), logits_only=True)


def _beam_cases(case: Case) -> Iterator[Case]:
    if case.policy != "refuse":
        return
    for parents in ((1, 0), (0, 0)):
        for n in (0, 1):
            room = len(case.prompt) + n + _N_AFTER
            yield replace(case, then=(), other=parents, n=n, capacity=max(case.capacity, room))


def _beams(case: Case, bench: Bench) -> Found:
    """Beams read `n` tokens, go on from their parents, and read two more; each alone after."""
    parents = case.other
    room = len(case.prompt) + case.n + _N_AFTER
    n_beams = len(parents)
    if why := silent(
        not_refuse(case),
        in_chunks(case),
        (n_beams < 2, f"{plural(n_beams, 'beam')} in other=; give two, as other=1,0"),
        (
            max(parents, default=0) >= n_beams,
            f"other= names parent {max(parents, default=0)}; of {n_beams} beams there are 0 to "
            f"{n_beams - 1}",
        ),
        too_long(case, room),
    ):
        return why
    decodes = tuple(Decode() for _ in range(case.n))
    after = tuple(Decode() for _ in range(_N_AFTER))
    requests = (Prefill(case.prompt), *decodes, Reorder(parents), *after)
    records = bench.run(case, n_sequences=len(parents), requests=requests, force_ids=())
    pairs: list[Pair] = []
    for which, (text, read) in enumerate(_by_beam(records, len(parents))):
        n_more = len(text) - len(case.prompt)
        alone = bench.run(case, steps=n_more, force_ids=text[len(case.prompt) :])
        pairs += zipped(f"beam {which} beside others", read, alone, logits_only=True)
    return pairs


def _by_beam(records: Sequence[StepRecord], n: int) -> list[tuple[Ids, list[StepRecord]]]:
    """The text of each beam, and the steps that read it."""
    beams: list[tuple[Ids, list[StepRecord]]] = [((), []) for _ in range(n)]
    for record in records:
        if record.phase == "reorder":
            beams = [(beams[p][0], list(beams[p][1])) for p in record.parents]
            continue
        text, read = beams[record.request]
        beams[record.request] = (text + record.token_ids, [*read, record])
    return beams


LAWS = (
    Law(
        "neighbours-padding",
        "neighbours",
        "a prompt behind padding gives what it gives without",
        _padding_cases,
        _padded,
    ),
    Law(
        "neighbours-beams",
        "neighbours",
        "a beam gives what its text gives alone",
        _beam_cases,
        _beams,
    ),
)
