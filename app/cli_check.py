"""`kvscope check`: which rules of a KV cache does somebody's class break?

What a model does with its cache is asked in `cli_check_model`.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.cli_check_options import N_RULES, option_of_another_kind
from app.cli_check_target import target
from app.cli_progress import Counter
from app.constructor_arguments import constructor_arguments
from app.standard_streams import complain
from core.contract.check import Verdict
from core.contract.decode import ModelTest
from core.contract.plan import Declared, Plan, plan_for
from core.contract.report import as_json, decoded_mechanism, mechanism, not_driven_json
from core.contract.subject import NotDrivableError, Source, Subject
from core.contract.whole_check import ClassCheck, class_check, plan_words
from core.contract.written_tests import test_file
from core.whole_files import check_holds_written_tests, check_writable, replacing

DONE, CHECK_FAILED = 0, 1
STATES = {
    "pass": "pass",
    "fail": "FAIL",
    "follows": "follows",
    "note": "note",
    "not_offered": "-",
    "skipped": "skipped",
}


def check_own(arguments: argparse.Namespace) -> int:
    """Check a class, or a model; the exit status.

    Raises:
        CoreError: it cannot be driven, or an option is not for its kind.
    """
    misplaced = option_of_another_kind(arguments)
    if misplaced is not None:
        needed = "model" if arguments.kind == "class" else "class"
        raise NotDrivableError(
            f"{misplaced} is for a {needed}, and this is a {arguments.kind}; "
            f"leave it out, or give --kind {needed}"
        )
    if arguments.kind == "class":
        return check_class(arguments)
    from app.cli_check_model import check_model  # here, since a class has no need of it

    return check_model(arguments)


def check_class(arguments: argparse.Namespace) -> int:
    """Drive a class and say which rules it breaks; the exit status.

    Raises:
        CoreError: the class cannot be driven.
    """
    source = _source(arguments)
    declared, only = _declared(arguments.declare or ()), tuple(arguments.only or ())
    if arguments.write_tests is not None:
        check_holds_written_tests(arguments.write_tests)
        check_writable(arguments.write_tests)
    found = _checked(source, declared, only, is_json=arguments.json)
    if arguments.json:
        _write_json(as_json(found.verdicts, found.decoded))
    else:
        _tell(source.name, found.plan, found.verdicts)
        _tell_models(found, is_whole=not only)
    if arguments.write_tests is not None:
        _write_tests(arguments, source, found.plan, found.verdicts if found.is_broken else ())
    return CHECK_FAILED if found.is_wrong else DONE


def _write_json(told: dict[str, Any]) -> None:
    sys.stdout.write(f"{json.dumps(told, allow_nan=False)}\n")


def _checked(
    source: Source, declared: frozenset[Declared], only: Sequence[int], *, is_json: bool
) -> ClassCheck:
    """Drive the class; where that cannot be done, the report says so too."""
    counter = Counter("rule", len(set(only)) or N_RULES)
    try:
        with Subject(source) as subject:
            plan = plan_for(subject, declared)
            found = class_check(
                subject, plan, only, at=lambda _: counter.next(), decodes=counter.done
            )
    except NotDrivableError as error:
        if is_json:
            _write_json(not_driven_json(str(error), only))
        raise
    counter.done()
    return found


def _source(arguments: argparse.Namespace) -> Source:
    path, name = target(arguments, "class", "NAME")
    adapter: Path | None = arguments.adapter
    if adapter is not None and arguments.args:
        raise NotDrivableError("--args is not for a class with an adapter: its make() says it all")
    given = constructor_arguments(arguments.args)
    return Source(path, name, given, None if adapter is None else adapter.resolve())


def _declared(names: Sequence[Declared]) -> frozenset[Declared]:
    if {"copies", "live_views"} <= set(names):
        raise NotDrivableError(
            "--declare copies and live_views exclude each other: what comes back either changes "
            "with the cache or does not"
        )
    return frozenset(names)


def _write_tests(
    arguments: argparse.Namespace, source: Source, plan: Plan, verdicts: Sequence[Verdict]
) -> None:
    """A file of tests; none where nothing is broken."""
    path: Path = arguments.write_tests
    if not verdicts:
        said = f"{path} is not written: no rule is broken"
    else:
        with replacing(path) as temporary:
            text = test_file(source, plan, verdicts, path.resolve().parent)
            temporary.write_text(text, encoding="utf-8")
        said = f"tests that fail as this class does: {path}"
    if arguments.json:
        complain(said)
    else:
        sys.stdout.write(f"{said}\n")


def _tell_models(found: ClassCheck, *, is_whole: bool) -> None:
    """What came of the model test, or why there was none; `is_whole`: all rules were asked."""
    if found.decoded is None:
        if found.is_broken and is_whole:
            sys.stdout.write("models do not decode with it as long as a rule is broken\n")
        return
    if found.is_broken:
        sys.stdout.write("models are asked all the same: none gives what such a rule is about\n")
    _tell_decoded(found.decoded)


def _tell_decoded(decoded: ModelTest) -> None:
    write = sys.stdout.write
    found = decoded.finding
    if found is not None:
        blocks = ", ".join(map(str, found.blocks))
        sinks = f", {found.sinks} sinks" if found.sinks else ""
        write(f"\n{decoded_mechanism(found)}\n    capacity {found.capacity}{sinks}, tokens of ")
        write(f"each step {blocks}{f'; {found.what}' if found.what else ''}\n    {found.found}\n")
    elif decoded.models:
        also = f" ({', '.join(decoded.also)} too)" if decoded.also else ""
        write(f"{', '.join(decoded.models)} decode with it as without a cache{also}\n")
    for words in decoded.not_covered:
        write(f"not covered by models: {words}\n")


def _tell_note(verdict: Verdict) -> None:
    assert verdict.case is not None  # noqa: S101  (a note has a case)
    assert verdict.found is not None  # noqa: S101
    calls = "; ".join(verdict.case.words())
    sys.stdout.write(
        f"\nnote {verdict.rule}: {mechanism(verdict)}\n    {calls}\n"
        f"    {verdict.found.found} where a strict cache gives {verdict.found.expected}\n"
    )


def _tell(name: str, plan: Plan, verdicts: Sequence[Verdict]) -> None:
    write = sys.stdout.write
    write(f"{plan_words(name, plan)}\n\n")
    for verdict in verdicts:
        follows = f" (from {verdict.root})" if verdict.root is not None else ""
        why = f" ({verdict.why})" if verdict.why else ""
        write(f"{verdict.rule:>3}  {STATES[verdict.state]:<8}{verdict.title}{follows}{why}\n")
    for verdict in verdicts:
        if verdict.state == "note":
            _tell_note(verdict)
    roots = [verdict for verdict in verdicts if verdict.state == "fail"]
    for verdict in roots:
        assert verdict.case is not None  # noqa: S101  (a failure has a case)
        assert verdict.found is not None  # noqa: S101
        write(f"\nrule {verdict.rule}: {mechanism(verdict)}\n")
        for call in verdict.case.words():
            write(f"    {call}\n")
        write(f"  expected  {verdict.found.expected}\n  found     {verdict.found.found}\n")
        write(f"  repair    {verdict.repair}\n")
    n_follow = sum(verdict.state == "follows" for verdict in verdicts)
    if roots:
        following = f"; {n_follow} more follow from them" if n_follow else ""
        write(f"\n{len(roots)} rule{'s' * (len(roots) != 1)} broken{following}\n")
    else:
        n = sum(verdict.state == "pass" for verdict in verdicts)
        write(f"\nno rule is broken ({n} hold)\n")
