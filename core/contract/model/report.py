"""What a check of a model found, as JSON."""

from typing import Any

from core.contract.model.check import Report
from core.contract.model.outcome import Outcome

NOT_COVERED = (
    "a fault that the model has with and without a cache, such as key heads in the wrong order, is "
    "not seen this way; --reference FOLDER compares with a checkpoint"
)


def as_json(report: Report, *, has_reference: bool) -> dict[str, Any]:
    """The whole report; `rules` is empty, since those are about a cache class."""
    return {
        "rules": [],
        "findings": [
            {
                "mechanism": one.mechanism,
                "rule": None,
                "like": one.preset_like,
                "rests_on": one.basis,
                "where": {"call": one.call, "layer": one.layer},
                "evidence": list(one.evidence),
            }
            for one in report.findings
        ],
        "sessions": [_session(one) for one in report.outcomes],
        "thresholds": {"right": report.bands.right, "wrong": report.bands.wrong},
        "notes": list(report.notes),
        "not_covered": None if has_reference else NOT_COVERED,
    }


def _session(outcome: Outcome) -> dict[str, Any]:
    return {
        "session": outcome.session.words,
        "verdict": outcome.standing,
        "first_wrong": outcome.first_wrong,
        "errors": [call.error for call in outcome.calls],
        "refused": outcome.refused or None,
    }
