"""Checks somebody's code in a process of its own, and tells line by line how far it is.

Started by `telling_start`. It is asked by one JSON object, and tells these, one a line:

{"waiting": [[number, rule], …]}  what will be asked of a class
{"about": words}                  what the code was taken for
{"asking": number}                this rule is asked now; "models" for the model test
{"row": …}                        what came of a rule, as far as that is known yet
{"n_done": n}                     ways in which a model has read its text
{"report": …}                     the end (`OwnReport`)
{"run": …}                        the end, where a run of a small model was asked for
{"cannot": why}                   the end: the code cannot be driven
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from core.contract.check import Verdict
from core.contract.model.check import check_model_of
from core.contract.model.reference import compared
from core.contract.model.sessions import N_STEPS, Wish
from core.contract.model.subject import ModelSubject
from core.contract.model.subject import Source as ModelSource
from core.contract.own_report import OwnReport
from core.contract.own_rows import decoded_row, model_report, rule_row
from core.contract.plan import Declared, Plan, plan_for
from core.contract.rules import RULES
from core.contract.run_plan import Reading, RunPlan
from core.contract.steps import Step, steps_of
from core.contract.subject import Source, Subject
from core.contract.whole_check import ClassCheck, class_check, plan_words
from core.contract.written_tests import test_file
from core.errors import CoreError

Tell = Callable[[Mapping[str, Any]], None]


def tell_check(ask: Mapping[str, Any], tell: Tell) -> None:
    """Carry out what was asked: "kind", "path", "name", "adapter"; of a class "args" and
    "declared", of a model "vocab", "prompt" and "reference". With "run" (`run_plan.RunPlan`) and
    "into", a class is not checked: a small model decodes with it, and the file "into" holds what
    happened. With "reading" (`run_plan.Reading`) a model reads a text in these calls.
    """  # noqa: D205  (one sentence)
    try:
        if "run" in ask or "reading" in ask:
            tell({"run": (_driven_run if "run" in ask else _recorded_reading)(ask)})
            return
        report = (_class_report if ask["kind"] == "class" else _model_report)(ask, tell)
    except CoreError as error:
        tell({"cannot": str(error)})
    else:
        tell({"report": report.as_json()})


def _driven_run(ask: Mapping[str, Any]) -> dict[str, Any]:
    """What the class is, what it raised by step, and why the run ends before its time, if it does.

    Raises:
        CoreError: it cannot be driven.
    """
    from core.driven.file import judged_run, save_run  # imports torch

    with Subject(_class_source(ask)) as subject:
        plan = plan_for(subject, _declared(ask))
        run = judged_run(subject, plan, RunPlan.of_json(ask["run"]))
    save_run(Path(ask["into"]), run)
    about = plan_words(ask["name"], plan)
    return {"about": about, "said": run.driven.said, "ended": run.driven.ended}


def _recorded_reading(ask: Mapping[str, Any]) -> dict[str, Any]:
    """Likewise of a model."""
    from core.driven.reading import recorded
    from core.foreign.file import write_foreign

    source = ModelSource(Path(ask["path"]), ask["name"], _adapter(ask))
    with ModelSubject(source) as subject:
        trace, ended = recorded(subject, Reading.of_json(ask["reading"]))
        about = f"{source.name}: {subject.about.model}, {subject.about.surface}"
    write_foreign(Path(ask["into"]), trace)
    return {"about": about, "said": {}, "ended": ended}


def _class_report(ask: Mapping[str, Any], tell: Tell) -> OwnReport:
    titles = {rule.number: rule.title for rule in RULES}
    tell({"waiting": sorted(titles.items())})
    source = _class_source(ask)
    with Subject(source) as subject:
        plan = plan_for(subject, _declared(ask))
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
    """The text of a file of tests; None: nothing is broken."""
    return test_file(source, found.plan, found.verdicts, None) if found.is_broken else None


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
        folder = ask["reference"]
        wish = Wish(ask["vocab"], tuple(ask["prompt"]), N_STEPS, with_numbers=folder is not None)
        report = check_model_of(subject, wish, at=count)
    if folder is not None:
        report = compared(report, Path(folder))
    return model_report(source.name, report, has_reference=folder is not None)


def _class_source(ask: Mapping[str, Any]) -> Source:
    return Source(Path(ask["path"]), ask["name"], ask["args"], _adapter(ask))


def _declared(ask: Mapping[str, Any]) -> frozenset[Declared]:
    return cast("frozenset[Declared]", frozenset(ask["declared"]))


def _adapter(ask: Mapping[str, Any]) -> Path | None:
    return None if ask["adapter"] is None else Path(ask["adapter"])
