"""How many faulty caches the rules find: mutants of three right classes, each checked.

    python -m tests.benchmarks.contract_mutants [--resume FILE] [--only N] [--id ID]... [--out FILE.md]

How a mutant is made stands in `tests.helpers.mutation`; which ones keep the contract, and why, in
`contract_equivalents.json` beside this file. A mutant is found if a rule fails (notes do not count).
With --resume, finished mutants are kept in a file, and the same command goes on from there; a mutant
that changed is checked anew. The exit status is 1 where one survived that is not known to be right.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from core.contract import subject as subjects
from core.contract.check import check
from core.contract.plan import Declared, plan_for
from core.contract.subject import NotDrivableError, Source, Subject
from tests.helpers.mutation import OPERATORS, Mutant, mutants_of

CACHES = Path(__file__).parents[1] / "helpers" / "caches"
EQUIVALENTS = Path(__file__).with_name("contract_equivalents.json")
CLASSES = {"contiguous": "KVCache", "ring": "RingCache", "layered": "LayeredCache"}
PROMISED: dict[str, frozenset[Declared]] = {
    "contiguous": frozenset(("broadcast",)),
    "ring": frozenset(("broadcast", "copies")),
    "layered": frozenset(("broadcast",)),
}
"""What the right classes keep beyond the rules that are asked of all."""

CALL_LIMIT_S = 2.0
LOAD_LIMIT_S = 20.0
CHECK_LIMIT_S = 60.0
"""When a class that has hung more than once is left alone."""

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
    c.append(np.ones((2, n, 3)), np.ones((2, n, 3)))
    assert c.keys().shape == c.values().shape == (2, held, 3)
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
        state: found, breaks (in its first two appends, and so cannot be driven), undrivable,
            hangs (and is found by that) or survived.
        roots: rules that fail.
        follows: (rule, root).
        seconds: how long the check took.
    """

    id: str
    change: str
    state: str
    roots: list[int]
    follows: list[list[int]]
    seconds: float = 0.0
    why: str = ""


class _TooLongError(Exception):
    """The check goes on for too long."""


def main() -> int:
    """Check, and write the table; 1 where a wrong mutant survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--only", type=int, help="so many mutants, drawn with a fixed seed")
    parser.add_argument("--id", action="append", help="this mutant, with all that is said of it")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    mutants = all_mutants()
    if asked.id:
        mutants = [mutant for mutant in mutants if mutant.id in asked.id]
    if asked.only:
        mutants = sample(mutants, asked.only)
    outcomes = list(_outcomes(mutants, asked.resume))
    text = table(outcomes, mutants)
    if asked.out:
        asked.out.write_text(text, encoding="utf-8")
    print(text)
    known = equivalents()
    return int(any(o.state in ("survived", "undrivable") and o.id not in known for o in outcomes))


def all_mutants() -> list[Mutant]:
    """Those of all three classes."""
    return [
        mutant
        for name in CLASSES
        for mutant in mutants_of(name, (CACHES / f"{name}.py").read_text("utf-8"))
    ]


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
    with tempfile.TemporaryDirectory() as folder:
        for at, mutant in enumerate(mutants):
            outcome = known.get(mutant.id)
            if outcome is None or outcome.change != mutant.change:
                outcome = checked(mutant, Path(folder))
                if kept is not None:
                    with kept.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(outcome)) + "\n")
                print(f"{at + 1}/{len(mutants)} {outcome.id}: {outcome.state} {outcome.roots}",
                      file=sys.stderr, flush=True)  # fmt: skip
            yield outcome


def checked(mutant: Mutant, folder: Path) -> Outcome:
    """Ask all rules of a mutant."""
    name = mutant.id.split(":")[0]
    path = folder / "theirs.py"
    path.write_text(mutant.text, encoding="utf-8")
    start = time.monotonic()
    subjects.LOAD_LIMIT_S = LOAD_LIMIT_S

    def not_too_long(rule: int) -> None:
        del rule
        if subject.n_starts > 2 and time.monotonic() - start > CHECK_LIMIT_S:
            raise _TooLongError

    def outcome(state: str, roots: list[int], follows: list[list[int]], why: str = "") -> Outcome:
        seconds = round(time.monotonic() - start, 1)
        return Outcome(mutant.id, mutant.change, state, roots, follows, seconds, why)

    try:
        with Subject(Source(path, CLASSES[name]), limit_s=CALL_LIMIT_S) as subject:
            plan = plan_for(subject, PROMISED[name])
            verdicts = check(subject, plan, at=not_too_long)
    except NotDrivableError as error:
        state = "breaks" if _breaks_at_once(name, folder) else "undrivable"
        return outcome(state, [], [], str(error))
    except _TooLongError:
        return outcome("hangs", [], [])
    roots = [verdict.rule for verdict in verdicts if verdict.state == "fail"]
    follows = [[v.rule, v.root] for v in verdicts if v.state == "follows" and v.root is not None]
    return outcome("found" if roots else "survived", roots, follows)


def _breaks_at_once(name: str, folder: Path) -> bool:
    """Whether a plain use, without the checker, fails in its first two appends."""
    try:
        done = subprocess.run([sys.executable, "-c", "from theirs import *\n" + FIRST_USE[name]], cwd=folder, timeout=20,
                              capture_output=True, check=False)  # noqa: S603  # fmt: skip
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def table(outcomes: Sequence[Outcome], mutants: Sequence[Mutant]) -> str:
    """What was measured, as Markdown."""
    return "\n".join(f"{o.id} {o.state} {o.roots} {o.change}" for o in outcomes if o.state in ("survived", "undrivable", "hangs") and o.id not in equivalents())


if __name__ == "__main__":
    raise SystemExit(main())
