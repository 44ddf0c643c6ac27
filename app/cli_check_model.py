"""`kvscope check --kind model`: does somebody's model decode with a cache as it does without?"""

import argparse
import json
import sys
from pathlib import Path

from app.cli_check_target import target
from app.cli_progress import Counter
from core.contract.model.check import Report, check_model_of
from core.contract.model.finding import Finding
from core.contract.model.outcome import Outcome
from core.contract.model.reference import compared
from core.contract.model.report import NOT_COVERED, as_json
from core.contract.model.sessions import N_STEPS, Wish
from core.contract.model.subject import ModelSubject, Source
from core.contract.subject import NotDrivableError
from core.model.checkpoint_folder import checkpoint_folder

DONE, CHECK_FAILED = 0, 1
N_SESSIONS = 8


def check_model(arguments: argparse.Namespace) -> int:
    """Drive a model and say what is wrong with its cache; the exit status.

    Raises:
        CoreError: the model cannot be driven, or the checkpoint not be read.
    """
    source, wish = _source(arguments), _wish(arguments)
    reference: Path | None = arguments.reference
    if reference is not None:
        checkpoint_folder(reference)  # before the model is asked for minutes
    try:
        report = _checked(source, wish)
    except NotDrivableError as error:
        if arguments.json:
            told = {"rules": [], "findings": [], "cannot_be_driven": str(error)}
            sys.stdout.write(f"{json.dumps(told, allow_nan=False)}\n")
        raise
    if reference is not None:
        report = compared(report, reference)
    if arguments.json:
        told = as_json(report, has_reference=reference is not None)
        sys.stdout.write(f"{json.dumps(told, allow_nan=False)}\n")
    else:
        _tell(source.name, report, has_reference=reference is not None)
    return CHECK_FAILED if report.findings else DONE


def _checked(source: Source, wish: Wish) -> Report:
    counter = Counter("way of reading", N_SESSIONS)
    with ModelSubject(source) as subject:
        report = check_model_of(subject, wish, at=counter.next)
    counter.done()
    return report


def _source(arguments: argparse.Namespace) -> Source:
    path, name = target(arguments, "model", "make_model")
    adapter: Path | None = arguments.adapter
    return Source(path, name, None if adapter is None else adapter.resolve())


def _wish(arguments: argparse.Namespace) -> Wish:
    return Wish(
        arguments.vocab,
        arguments.prompt_ids or (),
        arguments.steps or N_STEPS,
        with_numbers=arguments.reference is not None,
    )


def _tell(name: str, report: Report, *, has_reference: bool) -> None:
    write = sys.stdout.write
    about = report.about
    write(f"{name}: {about.model}, {about.surface}, {about.dtype}, {len(report.ids)} tokens\n\n")
    for outcome in report.outcomes:
        write(f"{_verdict(outcome):<10}{outcome.session.words}\n")
    for finding in report.findings:
        write(f"\n{_title(finding)}\n")
        for words in finding.evidence:
            write(f"    {words}\n")
    write("\n")
    for note in report.notes:
        write(f"{note}\n")
    if not has_reference:
        write(f"not covered: {NOT_COVERED}\n")
    n = len(report.findings)
    write(f"\n{n} finding{'s' * (n != 1)}\n" if n else "\nno finding\n")


def _verdict(outcome: Outcome) -> str:
    if not outcome.calls:
        return "not taken"
    return outcome.standing.upper() if outcome.standing == "wrong" else outcome.standing


def _title(finding: Finding) -> str:
    like = f" (like {finding.preset_like})" if finding.preset_like else ""
    layer = f", layer {finding.layer}" if finding.layer is not None else ""
    return f"{finding.mechanism}{like}: call {finding.call}{layer}"
