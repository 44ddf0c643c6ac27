"""Checks laws on cases; what fails is made small."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.battery.bench import Adapt, Bench, Broken
from core.battery.case import Case, read_case
from core.battery.law import Law
from core.battery.laws import LAWS
from core.battery.shrink import smallest
from core.battery.silence import Silent
from core.errors import SpecError
from core.faults.fault_files import known_with
from core.faults.use_text import use_of
from core.spec import DTypeName


@dataclass(frozen=True, slots=True)
class Failure:
    """A law that does not hold.

    Attributes:
        case: the smallest case in which it does not.
        found: what differs there.
    """

    case: Case
    found: str


@dataclass(frozen=True, slots=True)
class LawResult:
    """What came of a law.

    Attributes:
        law: the law.
        n_checked: cases in which it was checked.
        n_left_out: cases of which it says nothing, such as a rollback to rows that left.
        n_broken: cases in which it does not hold.
        failure: one of them, made small; None: it holds in all.
        why_silent: why it says nothing of the first case that is left out; None: there is none.
    """

    law: Law
    n_checked: int
    n_left_out: int
    n_broken: int
    failure: Failure | None
    why_silent: str | None


def check_law(
    law: Law,
    cases: Sequence[Case],
    bench: Bench,
    *,
    at: Callable[[], None] = lambda: None,
) -> LawResult:
    """Check a law on cases; `at` is called before each."""
    silences: list[Silent] = []
    broken: list[Case] = []
    for case in cases:
        at()
        found = law.check(case, bench)
        if isinstance(found, Silent):
            silences.append(found)
        elif bench.first_broken(found) is not None:
            broken.append(case)
    failure = None
    if broken:
        failure = made_small(min(broken, key=lambda case: case.size), law, bench)
    n_left_out, why = len(silences), silences[0].why if silences else None
    return LawResult(law, len(cases) - n_left_out, n_left_out, len(broken), failure, why)


def check_case(case: Case, bench: Bench) -> Broken | None:
    """What does not hold in a case; None: it all does, or the law says nothing of it.

    Raises:
        SpecError: an unknown law, or a run that cannot be made.
    """
    return bench.first_broken(law_of(case).check(case, bench))


def made_small(case: Case, law: Law, bench: Bench) -> Failure:
    """The smallest case in which the law fails as in `case`."""

    def fails(other: Case) -> bool:
        return bench.first_broken(law.check(other, bench)) is not None

    small = smallest(case, fails)
    broken = bench.first_broken(law.check(small, bench))
    return Failure(small, broken.found if broken else "")


def law_of(case: Case) -> Law:
    """The law that a case names.

    Raises:
        SpecError: there is none of that name.
    """
    law = next((law for law in LAWS if law.id == case.law), None)
    if law is None:
        names = ", ".join(law.id for law in LAWS)
        raise SpecError(f"--case: law={case.law} is not known; there are {names}")
    return law


def broken(
    case: str,
    faults: Sequence[str] = (),
    dtype: DTypeName = "float64",
    adapt: Adapt | None = None,
    fault_files: Sequence[str] = (),
) -> str | None:
    """What is broken in a case that is given as text; None: nothing. For tests that were written.

    Args:
        case: as `kvscope battery` prints it.
        faults: faults that are on, each as `kvscope battery --fault` takes it.
        dtype: number type.
        adapt: changes the engine's table of seams, to check rules of one's own.
        fault_files: files of faults of one's own, which are run.
    """
    known = known_with([Path(file) for file in fault_files])
    bench = Bench(known.with_files(tuple(use_of(text) for text in faults)), adapt, dtype, known)
    found = check_case(read_case(case), bench)
    return None if found is None else found.found
