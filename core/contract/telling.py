"""Checks somebody's code in a process of its own, and tells line by line how far it is.

Started by `telling_start`. It is asked by one JSON object, and tells these, one a line:

{"waiting": [[number, rule], …]}  what will be asked of a class
{"about": words}                  what the code was taken for
{"asking": number}                this rule is asked now; "models" for the model test
{"row": …}                        what came of a rule, as far as that is known yet
{"n_done": n}                     ways in which a model has read its text
{"report": …}                     the end (`OwnReport`)
{"cannot": why}                   the end: the code cannot be driven
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from core.contract.check import Verdict
from core.contract.model.check import check_model_of
from core.contract.model.sessions import N_STEPS, Wish
from core.contract.model.subject import ModelSubject
from core.contract.model.subject import Source as ModelSource
from core.contract.own_report import OwnReport
from core.contract.own_rows import decoded_row, model_report, rule_row
from core.contract.plan import Declared, Plan, plan_for
from core.contract.rules import RULES
from core.contract.steps import Step, steps_of
from core.contract.subject import Source, Subject
from core.contract.unasked import PAGED
from core.contract.whole_check import ClassCheck, class_check, plan_words
from core.contract.written_tests import test_file
from core.errors import CoreError

Tell = Callable[[Mapping[str, Any]], None]


def tell_check(ask: Mapping[str, Any], tell: Tell) -> None:
    """Carry out what was asked: "kind", "path", "name", "adapter"; of a class "args" and
    "declared", of a model "vocab".
    """  # noqa: D205  (one sentence)
    try:
        report = (_class_report if ask["kind"] == "class" else _model_report)(ask, tell)
    except CoreError as error:
        tell({"cannot": str(error)})
    else:
        tell({"report": report.as_json()})


def _class_report(ask: Mapping[str, Any], tell: Tell) -> OwnReport:
    titles = {rule.number: rule.title for rule in RULES} | PAGED
    tell({"waiting": sorted(titles.items())})
    source = Source(Path(ask["path"]), ask["name"], ask["args"], _adapter(ask))
    declared = cast("frozenset[Declared]", frozenset(ask["declared"]))
    with Subject(source) as subject:
        plan = plan_for(subject, declared)
        tell({"about": plan_words(source.name, plan)})
        found = class_check(
            subject,
            plan,
            at=lambda number: tell({"asking": number}),
            told=lambda verdict: tell({"row": rule_row(verdict, plan).as_json()}),
            decodes=lambda: tell({"asking": "models"}),
        )
        rows = tuple(
            rule_row(verdict, plan, _steps(subject, plan, verdict)) for verdict in found.verdicts
        )
    findings = [row for row in rows if row.state == "fail"]
    if found.decoded is not None and found.decoded.finding is not None:
        findings.append(decoded_row(found.decoded.finding))
    about = plan_words(source.name, plan)
    return OwnReport(about, tuple(findings), rows, _notes(found), _tests(source, found))


def _steps(subject: Subject, plan: Plan, verdict: Verdict) -> tuple[Step, ...]:
    if verdict.case is None or verdict.found is None:
        return ()
    return steps_of(subject, plan, verdict.case, verdict.found)


def _notes(found: ClassCheck) -> tuple[str, ...]:
    if found.decoded is None:
        return ("models do not decode with it as long as a rule is broken",)
    decoded, notes = found.decoded, list[str]()
    if decoded.finding is None and decoded.models:
        also = f" ({', '.join(decoded.also)} too)" if decoded.also else ""
        notes.append(f"{', '.join(decoded.models)} decode with it as without a cache{also}")
    return (*notes, *(f"not covered by models: {words}" for words in decoded.not_covered))


def _tests(source: Source, found: ClassCheck) -> str | None:
    """The text of a file of tests; None: nothing is broken, or they would need the adapter."""
    if not found.is_broken or not found.plan.surface.spelling:
        return None
    return test_file(source, found.plan, found.verdicts)


def _model_report(ask: Mapping[str, Any], tell: Tell) -> OwnReport:
    source = ModelSource(Path(ask["path"]), ask["name"], _adapter(ask))
    n_done = 0

    def count() -> None:
        nonlocal n_done
        n_done += 1
        tell({"n_done": n_done})

    with ModelSubject(source) as subject:
        about = subject.about
        tell({"about": f"{source.name}: {about.model}, {about.surface}, {about.dtype}"})
        report = check_model_of(subject, Wish(ask["vocab"], (), N_STEPS), at=count)
    return model_report(source.name, report)


def _adapter(ask: Mapping[str, Any]) -> Path | None:
    return None if ask["adapter"] is None else Path(ask["adapter"])
