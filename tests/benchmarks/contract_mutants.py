"""How many faulty caches the rules find: mutants of three right classes, each checked.

    python -m tests.benchmarks.contract_mutants [--resume FILE] [--only N] [--id ID]...
                                                [--out FILE.md]

How a mutant is made stands in `tests.helpers.mutation`; which ones keep the contract, and why, in
`contract_equivalents.json` beside this file. A mutant is found if a rule fails; notes do not count.
With --resume, finished mutants are kept in a file, and the same command goes on from there; one
that changed is checked anew. The exit status is 1 where a mutant is missed that is not equivalent.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Self

from core.contract import subject as subjects
from core.contract.check import check
from core.contract.plan import Declared, plan_for
from core.contract.subject import NotDrivableError, Source
from tests.helpers.mutation import OPERATORS, Mutant, mutants_of
from tests.helpers.subjects import Subjects

CACHES = Path(__file__).parents[1] / "helpers" / "caches"
EQUIVALENTS = Path(__file__).with_name("contract_equivalents.json")
CLASSES = {"contiguous": "KVCache", "ring": "RingCache", "layered": "LayeredCache"}
PROMISED: dict[str, frozenset[Declared]] = {
    "contiguous": frozenset(("broadcast",)),
    "ring": frozenset(("broadcast", "copies")),
    "layered": frozenset(("broadcast",)),
}
"""What the right classes keep beyond the rules that are asked of all."""

CALL_LIMIT_S, LOAD_LIMIT_S = 2.0, 20.0
PATIENCE_S = 15.0
"""So long may a mutant hang, and be started again, in all."""

INTRODUCTION = (
    "`python -m tests.benchmarks.contract_mutants --out tests/benchmarks/MUTANTS.md`. The "
    "classes are those of `tests/helpers/caches`; each mutant has one change, made by "
    "`tests/helpers/mutation.py`, and is checked with what its class promises: `broadcast` for all "
    "three, `copies` for the ring. Found: a rule fails; notes do not count. Breaks at once: it "
    "fails in a plain use of two appends without the checker, which then cannot drive it (exit "
    "status 2, the error is told). Equivalent: looked at by hand; the contract allows it."
)
FIRST_USE = {
    "contiguous": """
c = KVCache(8, 3, 2)
for n, held in ((3, 3), (2, 5)):
    c.append(np.ones((n, 3)), np.ones((n, 2)))
    assert c.keys().shape == (held, 3) and c.values().shape == (held, 2)
""",
    "ring": """
c = RingCache(8, 2, 3)
for n, held in ((3, 3), (2, 5)):
    k, v = c.append(np.ones((2, n, 3)), np.ones((2, n, 3)))
    assert k.shape == v.shape == c.keys().shape == c.values().shape == (2, held, 3)
""",
    "layered": """
c = LayeredCache(2, 1, 2, 3)
for n, held in ((3, 3), (2, 5)):
    k, v = c.update(torch.ones((1, 2, n, 3)), torch.ones((1, 2, n, 3)), 0)
    assert k.shape == v.shape == (1, 2, held, 3)
""",
}
"""What every user of a class does first; a class that fails here is no riddle."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a mutant.

    Attributes:
        id, change: the mutant.
        state: found (a rule fails), breaks (in its first two appends, and so cannot be driven),
            undrivable (without breaking there) or survived.
        roots: rules that fail.
        follows: (rule, root).
        seconds: how long the check took.
        why: why it could not be driven.
    """

    id: str
    change: str
    state: str
    roots: list[int]
    follows: list[list[int]]
    seconds: float = 0.0
    why: str = ""


def main() -> int:
    """Check, and write the table; 1 where a wrong mutant survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--only", type=int, help="so many mutants, drawn with a fixed seed")
    parser.add_argument("--id", action="append", help="this mutant, with all that is said of it")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    mutants = list(all_mutants())
    if asked.id:
        mutants = [mutant for mutant in mutants if mutant.id in asked.id]
    if asked.only:
        mutants = sample(mutants, asked.only)
    outcomes = list(_outcomes(mutants, asked.resume))
    text = table(outcomes)
    if asked.out:
        asked.out.write_text(text, encoding="utf-8")
    print(text)
    known = equivalents()
    return int(any(o.state in ("survived", "undrivable") and o.id not in known for o in outcomes))


@cache
def all_mutants() -> tuple[Mutant, ...]:
    """Those of all three classes."""
    return tuple(
        mutant
        for name in CLASSES
        for mutant in mutants_of(name, (CACHES / f"{name}.py").read_text("utf-8"))
    )


def sample(mutants: Sequence[Mutant], n: int, seed: int = 0) -> list[Mutant]:
    """Some of them, always the same."""
    return random.Random(seed).sample(list(mutants), n)


def equivalents() -> dict[str, str]:
    """id -> why this mutant keeps the contract."""
    return json.loads(EQUIVALENTS.read_text("utf-8")) if EQUIVALENTS.exists() else {}


def _outcomes(mutants: Sequence[Mutant], kept: Path | None) -> Iterator[Outcome]:
    known: dict[str, Outcome] = {}
    if kept is not None and kept.exists():
        for line in kept.read_text("utf-8").splitlines():
            outcome = Outcome(**json.loads(line))
            known[outcome.id] = outcome
    with tempfile.TemporaryDirectory() as folder, Checker(Path(folder)) as checker:
        for at, mutant in enumerate(mutants):
            outcome = known.get(mutant.id)
            if outcome is None or outcome.change != mutant.change:
                outcome = checker.checked(mutant)
                if kept is not None:
                    with kept.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(outcome)) + "\n")
                told = f"{at + 1}/{len(mutants)} {outcome.id}: {outcome.state} {outcome.roots}"
                print(told, file=sys.stderr, flush=True)
            yield outcome


class Checker:
    """Asks all rules of one mutant after the other, those of a class in the same process."""

    def __init__(self, folder: Path) -> None:
        """Mutants are written into the folder."""
        self._folder = folder
        self._subjects = Subjects(limit_s=CALL_LIMIT_S, patience_s=PATIENCE_S)
        self._n = 0

    def __enter__(self) -> Self:
        # A mutant may hang when it is first tried.
        self._usual_s, subjects.LOAD_LIMIT_S = subjects.LOAD_LIMIT_S, LOAD_LIMIT_S
        return self

    def __exit__(self, *error: object) -> None:
        subjects.LOAD_LIMIT_S = self._usual_s
        self._subjects.__exit__(*error)

    def checked(self, mutant: Mutant) -> Outcome:
        """What comes of a mutant."""
        name = mutant.id.split(":")[0]
        self._n += 1
        folder = self._folder / str(self._n)
        folder.mkdir()
        path = folder / "theirs.py"
        path.write_text(mutant.text, encoding="utf-8")
        start = time.monotonic()
        state, why, verdicts = "survived", "", []
        try:
            subject = self._subjects.turned_to(Source(path, CLASSES[name]))
            verdicts = check(subject, plan_for(subject, PROMISED[name]))
        except NotDrivableError as error:
            state, why = "breaks" if _breaks_at_once(name, folder) else "undrivable", str(error)
        roots = [verdict.rule for verdict in verdicts if verdict.state == "fail"]
        follows = [[v.rule, v.root] for v in verdicts if v.state == "follows" and v.root]
        if roots:
            state = "found"
        seconds = round(time.monotonic() - start, 1)
        return Outcome(mutant.id, mutant.change, state, roots, follows, seconds, why)


def _breaks_at_once(name: str, folder: Path) -> bool:
    """Whether a plain use, without the checker, fails in its first two appends."""
    first_use = f"from theirs import *\n{FIRST_USE[name]}"
    try:
        done = subprocess.run(  # noqa: S603  (our own mutant)
            [sys.executable, "-c", first_use], cwd=folder, timeout=20, capture_output=True,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def table(outcomes: Sequence[Outcome]) -> str:
    """What was measured, as Markdown."""
    known = equivalents()
    judged = [o for o in outcomes if o.id not in known]
    missed = [o for o in judged if o.state in ("survived", "undrivable")]
    n_found = len(judged) - len(missed)
    lines = [
        "# Mutants of three right caches: how many the rules find",
        "",
        INTRODUCTION,
        "",
        f"{len(outcomes)} of {len(all_mutants())} mutants were checked. "
        f"{len(outcomes) - len(judged)} are equivalent. Of the other "
        f"{len(judged)}, {n_found} are found ({n_found / max(1, len(judged)):.1%}).",
        "",
        *_per_class(outcomes, known),
        "",
        *_per_operator(outcomes, known),
        "",
        *_per_root(outcomes),
        "",
        "## Not found",
        "",
        *([f"- `{o.id}` ({o.state}): `{o.change}`" for o in missed] or ["None."]),
        "",
        "## Equivalent, and why",
        "",
        *(f"- `{o.id}`: {known[o.id]}" for o in outcomes if o.id in known),
    ]
    return "\n".join(lines) + "\n"


def _per_class(outcomes: Sequence[Outcome], known: Mapping[str, str]) -> Iterator[str]:
    names = {name: name for name in CLASSES}
    yield from _counted("class", names, lambda o: o.id.split(":")[0], outcomes, known)


def _per_operator(outcomes: Sequence[Outcome], known: Mapping[str, str]) -> Iterator[str]:
    for name in CLASSES:
        own = [o for o in outcomes if o.id.startswith(f"{name}:")]
        names = {op.name: f"{op.name}: {op.example}" for op in OPERATORS}
        yield from _counted(name, names, lambda o: o.id.split(":")[2], own, known)
        yield ""


def _counted(
    what: str,
    names: Mapping[str, str],
    key: Callable[[Outcome], str],
    outcomes: Sequence[Outcome],
    known: Mapping[str, str],
) -> Iterator[str]:
    """A table: made, equivalent, found by a rule, broken at once, not found."""
    yield f"| {what} | made | equivalent | found by a rule | breaks at once | not found |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name, words in names.items():
        own = [o for o in outcomes if key(o) == name]
        counts = Counter("equivalent" if o.id in known else o.state for o in own)
        missed = counts["survived"] + counts["undrivable"]
        cells = (len(own), counts["equivalent"], counts["found"], counts["breaks"], missed)
        if own:
            yield f"| {words} | {' | '.join(str(cell) for cell in cells)} |"


def _per_root(outcomes: Sequence[Outcome]) -> Iterator[str]:
    counts = Counter(len(o.roots) for o in outcomes if o.state == "found")
    yield "| findings (roots) | mutants |"
    yield "| --- | --- |"
    yield from (f"| {n} | {counts[n]} |" for n in sorted(counts))


if __name__ == "__main__":
    raise SystemExit(main())
