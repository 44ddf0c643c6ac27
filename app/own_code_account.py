"""What a check has told so far of somebody's code."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from core.contract.names_in_file import Kind
from core.contract.own_report import OwnReport, Row, rule_key

N_SESSIONS = 8
Change = Literal["nothing", "about", "progress", "rows", "report", "cannot"]


class Account:
    """Grows line by line. What is known of an earlier check stays until the next one ends.

    Attributes:
        kind: of what is checked.
        report: of the last check that ended; None: none did.
        rows: key -> row, as far as they are known.
        about: what the code was taken for.
        words: how far the check is, or why there is none.
        n_done, n: the same in numbers.
    """

    def __init__(self, kind: Kind) -> None:
        """Nothing is known."""
        self.kind: Kind = kind
        self.report: OwnReport | None = None
        self.rows: dict[str, Row] = {}
        self.about = ""
        self.words, self.n_done, self.n = "", 0, 1

    def begin(self) -> None:
        """Another check begins."""
        self.words, self.n_done = "checking…", 0
        self.n = N_SESSIONS if self.kind == "model" else max(1, len(self.rows))

    def take(self, told: Mapping[str, Any]) -> Change:
        """Take a line of `core.contract.telling`; what has changed by it."""
        takers: dict[str, Callable[[Any], Change]] = {
            "waiting": self._waiting,
            "about": self._about,
            "asking": self._asking,
            "n_done": self._n_done,
            "row": self._row,
            "report": self._report,
            "cannot": self._cannot,
        }
        ((name, value),) = told.items()
        return takers[name](value)

    def _waiting(self, told: Any) -> Change:  # noqa: ANN401  (a value of JSON, as below)
        self.n = len(told)
        if self.report is not None:
            return "nothing"
        rows = (Row(rule_key(number), "waiting", title, number) for number, title in told)
        self.rows = {row.key: row for row in rows}
        return "rows"

    def _about(self, told: Any) -> Change:  # noqa: ANN401
        self.about = str(told)
        return "about"

    def _asking(self, told: Any) -> Change:  # noqa: ANN401
        if told == "models":
            self.words, self.n_done = "small models decode with it…", self.n
        else:
            self.words, self.n_done = f"checking rule {told} of {self.n}…", int(told)
        return "progress"

    def _n_done(self, told: Any) -> Change:  # noqa: ANN401
        self.words, self.n_done = f"{told} ways of reading a text done…", int(told)
        return "progress"

    def _row(self, told: Any) -> Change:  # noqa: ANN401
        if self.report is not None:
            return "nothing"
        row = Row.of_json(told)
        self.rows[row.key] = row
        return "rows"

    def _report(self, told: Any) -> Change:  # noqa: ANN401
        self.report = OwnReport.of_json(told)
        self.rows = {row.key: row for row in self.report.rows}
        self.about = self.report.about
        return "report"

    def _cannot(self, told: Any) -> Change:  # noqa: ANN401
        self.words = str(told)
        return "cannot"


def summary(report: OwnReport, kind: Kind) -> str:
    """How much is wrong, in a sentence."""
    if kind == "model":
        n = len(report.findings)
        n_ways = sum(row.state != "not_taken" for row in report.rows)
        ways = f"{n_ways} way{'s' * (n_ways != 1)} of reading a text compared"
        return f"{n} finding{'s' * (n != 1)}; {ways}" if n else f"no finding; {ways}"
    states = [row.state for row in report.rows]
    n_broken, n_follow = states.count("fail"), states.count("follows")
    holds = f"{states.count('pass')} hold"
    if not n_broken:
        others = [found.mechanism for found in report.findings]
        return "; ".join((*others, f"no rule is broken, {holds}"))
    follow = f", {n_follow} more follow from them" if n_follow else ""
    return f"{n_broken} rule{'s' * (n_broken != 1)} broken{follow}, {holds}"


def why_no_tests(report: OwnReport, kind: Kind) -> str:
    """Why no tests can be written; empty: they can."""
    if report.tests is not None:
        return ""
    if kind == "model":
        return "tests are written of a class, and this is a model"
    return "no rule is broken"
