"""A prompt read in chunks gives what the whole prompt gives."""

from collections.abc import Iterator
from dataclasses import replace

from core.battery.bench import Bench, Found, zipped
from core.battery.case import Case
from core.battery.law import Law
from core.battery.silence import refused, silent


def chunk_sizes(case: Case) -> tuple[int, ...]:
    """A few sizes that cut the prompt."""
    n = len(case.prompt)
    return tuple(size for size in sorted({1, 2, 3, case.capacity}) if size < n)


def _cases(case: Case) -> Iterator[Case]:
    for size in chunk_sizes(case):
        yield replace(case, chunk=size)


def _check(case: Case, bench: Bench) -> Found:
    """The last chunk, and what is read after it, against the whole prompt.

    A chunk before the last is no part of it: under re-prefill its rows are those of another text.
    """
    if why := silent(
        (case.chunk == 0, "chunk=0 reads the prompt whole; give chunk=1 or more"),
        refused(case, len(case.prompt)),
    ):
        return why
    whole = bench.run(case, chunk=None)
    n_chunks = -(-len(case.prompt) // case.chunk)
    return zipped("from the last chunk on", bench.run(case)[n_chunks - 1 :], whole)


CHUNKS = Law(
    "chunks",
    "chunks",
    "the last chunk of a prompt, and what follows it, give what the whole prompt gives",
    _cases,
    _check,
)
LAWS = (CHUNKS,)
