"""Tokens read one by one give what chunks of them give."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from core.battery.bench import Bench, Broken, Found, Pair
from core.battery.case import Case
from core.battery.chunks import chunk_sizes
from core.battery.law import Law
from core.battery.silence import Silent
from core.outcome import Ok
from core.record import StepRecord


def _cases(case: Case) -> Iterator[Case]:
    for size in chunk_sizes(case):
        if size > 1:
            yield replace(case, chunk=size)
    yield case


def _check(case: Case, bench: Bench) -> Found:
    """The last row of each chunk against the step that reads that token alone."""
    if len(case.prompt) < 2:
        return Silent("a prompt of 1 token has no chunks; give prompt= of 2 tokens or more")
    single = bench.run(
        case,
        prompt_ids=case.prompt[:1],
        steps=len(case.text) - 1,
        force_ids=case.text[1:],
        chunk=None,
    )
    return list(_pairs(case, single, bench.run(case)))


def _pairs(
    case: Case, single: Sequence[StepRecord], chunked: Sequence[StepRecord]
) -> Iterator[Pair | Broken]:
    n_read = 0
    for record in chunked:
        n_read += len(record.token_ids)
        where = f"token {n_read - 1}, in a chunk of {len(record.token_ids)} against alone"
        alone = single[n_read - 1] if n_read <= len(single) else None
        is_refused = not isinstance(record.outcome, Ok)
        if alone is not None and not (is_refused and not isinstance(alone.outcome, Ok)):
            yield Pair(where, record, alone)
            continue
        if not is_refused:
            last = single[-1]
            yield Broken(
                f"a chunk that ends with token {n_read - 1} was let in; alone, token "
                f"{len(single) - 1} was refused: {last.outcome}"
            )
        return


LAWS = (
    Law(
        "one-by-one",
        "one-by-one",
        "the last token of a chunk gives what it gives when every token is read alone",
        _cases,
        _check,
    ),
)
