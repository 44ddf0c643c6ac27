"""What a check found of a class or a model, as the rows of a report."""

import re
from collections.abc import Iterable

from core.contract.calls import Append
from core.contract.check import Verdict
from core.contract.decode import DecodeFinding
from core.contract.model.check import Report as ModelReport
from core.contract.model.facts import Call
from core.contract.model.finding import Finding
from core.contract.model.outcome import Outcome
from core.contract.model.report import NOT_COVERED
from core.contract.own_report import OwnReport, Row, RowState, rule_key
from core.contract.plan import Plan
from core.contract.report import LIKE, decoded_mechanism, mechanism
from core.contract.run_of_calls import run_of_case, run_of_finding
from core.contract.run_plan import Reading
from core.contract.steps import Step


def rule_row(verdict: Verdict, plan: Plan, steps: Iterable[Step] = ()) -> Row:
    """What came of a rule."""
    case, found = verdict.case, verdict.found
    key = rule_key(verdict.rule)
    if case is None or found is None:
        n = verdict.n_cases
        why = verdict.why or (f"{n} sequence{'s' * (n != 1)} tried" if n else "")
        return Row(key, verdict.state, verdict.title, verdict.rule, verdict.root, "", why)
    return Row(
        key,
        verdict.state,
        verdict.title,
        verdict.rule,
        verdict.root,
        mechanism(verdict),
        verdict.why,
        found.expected,
        found.found,
        verdict.repair,
        steps=tuple(steps),
        methods=_methods(verdict, plan),
        preset=LIKE.get(mechanism(verdict), "") if verdict.state == "fail" else "",
        run=run_of_case(case, plan),
    )


def _methods(verdict: Verdict, plan: Plan) -> tuple[str, ...]:
    assert verdict.case is not None  # noqa: S101  (asked for broken rules only)
    assert verdict.found is not None  # noqa: S101
    calls = verdict.case.calls
    names = ["append" if isinstance(call, Append) else call.call for call in calls]
    at = verdict.found.at
    first = ["make"] if at is None else [names[at]] if at < len(names) else []
    called: list[str] = []
    for name in (*first, *names):
        spelled = "__init__" if name == "make" else plan.surface.spelling.get(name, "")
        called += re.findall(r"cache\.(\w+)", spelled) or ([spelled] if name == "make" else [])
    return tuple(dict.fromkeys(called))


def decoded_row(found: DecodeFinding) -> Row:
    """What the model test found."""
    sinks = f", {found.sinks} sinks" if found.sinks else ""
    blocks = ", ".join(map(str, found.blocks))
    said = decoded_mechanism(found)
    fed = f"capacity {found.capacity}{sinks}, tokens of each step {blocks}"
    evidence = (f"{fed}; {found.what}" if found.what else fed, found.found)
    return Row(
        "model test",
        "fail",
        said,
        mechanism=said,
        evidence=evidence,
        preset=found.preset_like or "",
        run=run_of_finding(found),
    )


def model_report(name: str, report: ModelReport, *, has_reference: bool) -> OwnReport:
    """What a check of a model found."""
    about = report.about
    words = f"{name}: {about.model}, {about.surface}, {about.dtype}, {len(report.ids)} tokens"
    return OwnReport(
        words,
        tuple(_finding_row(found, _of_first_wrong(report.outcomes)) for found in report.findings),
        tuple(map(_session_row, report.outcomes)),
        report.notes if has_reference else (*report.notes, f"not covered: {NOT_COVERED}"),
    )


def _of_first_wrong(outcomes: Iterable[Outcome]) -> Reading | None:
    """The way of reading that a finding explains."""
    wrong = (outcome for outcome in outcomes if outcome.first_wrong is not None)
    found = next(wrong, None)
    return None if found is None else _reading(found)


def _reading(outcome: Outcome) -> Reading | None:
    """The calls of a session; None: of several texts, or after another one, or not even one."""
    session = outcome.session
    is_single = len(session.ids) == 1 and session.before is None
    if not is_single or not outcome.calls or outcome.calls[0].raised is not None:
        return None
    return Reading(tuple(session.ids[0]), tuple(session.chunks))


def _finding_row(found: Finding, reading: Reading | None) -> Row:
    like = f" (like {found.preset_like})" if found.preset_like else ""
    layer = f", layer {found.layer}" if found.layer is not None else ""
    where = f"call {found.call}{layer}"
    title = f"{found.mechanism}{like}"
    key = f"{found.mechanism}, {where}"
    preset, evidence = found.preset_like or "", found.evidence
    return Row(
        key,
        "fail",
        title,
        mechanism=title,
        remark=where,
        evidence=evidence,
        preset=preset,
        reading=reading,
    )


def _session_row(outcome: Outcome) -> Row:
    state: RowState = outcome.standing if outcome.calls else "not_taken"
    words = outcome.session.words
    evidence = tuple(f"call {at}: {_call_words(call)}" for at, call in enumerate(outcome.calls))
    reading = _reading(outcome)
    return Row(words, state, words, remark=outcome.refused, evidence=evidence, reading=reading)


def _call_words(call: Call) -> str:
    if call.raised is not None:
        return ": ".join(call.raised)
    if call.error is None:
        return "logits that are not finite"
    return f"largest logit error {call.error:.3g}"
