"""A report of somebody's code as rows of a list, in plain values that go over a pipe."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from core.contract.run_plan import Reading, RunPlan
from core.contract.steps import Step

RowState = Literal[
    "waiting", "pass", "fail", "follows", "note", "not_offered", "skipped",
    "right", "rounding", "wrong", "not_taken",
]  # fmt: skip
"""The first seven are those of a rule; the others, of a way in which a model read its text."""


@dataclass(frozen=True, slots=True)
class Row:
    """A rule, a way of reading, or a finding that is neither.

    Attributes:
        key: its name, the same in every check.
        state: what came of it.
        title: the rule as a sentence, or the way of reading.
        number: of the rule; None: it is none.
        root: the rule that it follows from; None: from none.
        mechanism: what is wrong, in words; empty: nothing.
        remark: why it was not asked, or not taken; where it holds, how often it was tried.
        expected, found, repair: as in the report; empty: nothing was broken.
        evidence: what speaks for it.
        steps: the shortest sequence that shows it.
        methods: names that the sequence uses of the class, that of the broken call first.
        preset: id of a fault of ours that works like it; empty: none is known.
        run: the sequence as a run of a small model; None: a decode loop makes no such calls.
        reading: of a model, the calls; None: they are not those of one text.
    """

    key: str
    state: RowState
    title: str
    number: int | None = None
    root: int | None = None
    mechanism: str = ""
    remark: str = ""
    expected: str = ""
    found: str = ""
    repair: str = ""
    evidence: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    methods: tuple[str, ...] = ()
    preset: str = ""
    run: RunPlan | None = None
    reading: Reading | None = None

    def broken_line(self, file: str) -> int | None:
        """The line of a file in which the call raised that breaks the rule.

        None: it did not, or in another file, or that is not known.
        """
        where = next((step.where for step in self.steps if step.is_broken), "")
        found = re.match(rf"{re.escape(file)}, line (\d+)", where)
        return None if found is None else int(found[1])

    @classmethod
    def of_json(cls, told: Mapping[str, Any]) -> Self:
        """As `as_json` made it."""
        parts: dict[str, Any] = {name: tuple(told[name]) for name in ("evidence", "methods")}
        parts["steps"] = tuple(Step.of_json(step) for step in told["steps"])
        reading = told["reading"]
        parts["reading"] = None if reading is None else Reading.of_json(reading)
        parts["run"] = None if told["run"] is None else RunPlan.of_json(told["run"])
        return cls(**{**told, **parts})

    def as_json(self) -> dict[str, Any]:
        """In plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class OwnReport:
    """All that a check found.

    Attributes:
        about: what the code was taken for.
        findings: the roots of what is wrong.
        rows: every rule, or every way of reading.
        notes: what else is to be known.
        tests: a file of tests that fail as the class does; None: there is none to be written.
    """

    about: str
    findings: tuple[Row, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    tests: str | None = None

    @classmethod
    def of_json(cls, told: Mapping[str, Any]) -> Self:
        """As `as_json` made it."""
        findings, rows = (tuple(map(Row.of_json, told[name])) for name in ("findings", "rows"))
        return cls(told["about"], findings, rows, tuple(told["notes"]), told["tests"])

    def as_json(self) -> dict[str, Any]:
        """In plain values."""
        return asdict(self)


def rule_key(number: int) -> str:
    """The name of a rule's row."""
    return f"rule {number}"
