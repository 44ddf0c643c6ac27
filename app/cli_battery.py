"""`kvscope battery`: properties of the cache that need no reference."""

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from app.cli_own import faults_on, known_faults
from app.cli_progress import Counter
from core.battery.bench import Bench
from core.battery.case import read_case
from core.battery.checks import Failure, LawResult, check_law, law_of
from core.battery.law import Law
from core.battery.laws import N_LAYERS, cases_of, laws_of
from core.battery.names import DEFAULT_MODELS
from core.battery.written_tests import test_file
from core.errors import FaultError, SpecError
from core.faults.guard import blaming
from core.model.loading import load_model
from core.readouts.words import plural
from core.spec import FaultUse
from core.whole_files import check_writable, replacing

DONE, CHECK_FAILED = 0, 1


def battery(arguments: argparse.Namespace) -> int:
    """Check the properties and say what does not hold; the exit status.

    Raises:
        CoreError: input that cannot be used.
    """
    known = known_faults(arguments.fault_file)
    faults = tuple(_at_every_step(use) for use in faults_on(arguments.fault, known))
    if arguments.write_tests is not None:
        check_writable(arguments.write_tests)
    bench = Bench(faults, dtype=arguments.dtype, known=known)
    told = _Told(arguments, faults)
    told.begin()
    with blaming([fault.where for fault in known.own_of(faults)]):
        results = _results(arguments, bench, told)
    failures = [result.failure for result in results if result.failure is not None]
    told.end(results)
    if arguments.write_tests is not None and failures:
        with replacing(arguments.write_tests) as temporary:
            files = [str(path.resolve()) for path in arguments.fault_file]
            text = test_file(failures, [use.id for use in faults], arguments.dtype, files)
            temporary.write_text(text, encoding="utf-8")
    return CHECK_FAILED if failures else DONE


def _results(arguments: argparse.Namespace, bench: Bench, told: "_Told") -> list[LawResult]:
    results: list[LawResult] = []
    for law, cases in _work(arguments):
        counter = Counter(f"{law.id}: case", len(cases))
        results.append(check_law(law, cases, bench, at=counter.next))
        counter.done()
        if arguments.case is not None and not results[-1].n_checked:
            raise SpecError(f"--case: {law.id} says nothing of this case ({law.sentence})")
        told.law(results[-1])
    return results


def _work(arguments: argparse.Namespace) -> list[tuple[Law, list[Any]]]:
    """Laws with their cases."""
    if arguments.case is not None:
        return [_one_case(arguments.case)]
    models = arguments.model or DEFAULT_MODELS
    n_layers = 1 + max((n for use in arguments.fault for n in use.layers or ()), default=1)
    return [
        (law, cases_of(law, models, arguments.seed, arguments.most, max(n_layers, N_LAYERS)))
        for law in laws_of(arguments.only)
    ]


def _one_case(text: str) -> tuple[Law, list[Any]]:
    case = read_case(text)
    law, n_layers = law_of(case), load_model(case.model).config.n_layers
    if case.layers > n_layers:
        raise SpecError(f"--case: layers={case.layers}; {case.model} has {n_layers}")
    return law, [case]


def _at_every_step(use: FaultUse) -> FaultUse:
    if use.first_step != 0 or use.last_step is not None:
        raise FaultError(
            f"--fault {use.id} with steps: the runs that are compared have different steps; "
            "leave @FROM-TO out"
        )
    return replace(use, last_step=None)


class _Told:
    """What is printed."""

    def __init__(self, arguments: argparse.Namespace, faults: Sequence[FaultUse]) -> None:
        self._as_json: bool = arguments.json
        self._arguments = arguments
        self._faults = faults
        self._path: Path | None = arguments.write_tests

    def begin(self) -> None:
        """What is about to be checked."""
        names = [_fault_words(use) for use in self._faults]
        if self._as_json:
            _write_line(
                {
                    "kind": "battery",
                    "schema": 1,
                    "seed": self._arguments.seed,
                    "dtype": self._arguments.dtype,
                    "faults": names,
                }
            )
        elif names:
            sys.stdout.write(f"with {', '.join(names)}\n")

    def law(self, result: LawResult) -> None:
        """What came of a law."""
        law, failure = result.law, result.failure
        if self._as_json:
            _write_line(
                {
                    "kind": "law",
                    "id": law.id,
                    "property": law.property,
                    "sentence": law.sentence,
                    "checked": result.n_checked,
                    "left_out": result.n_left_out,
                    "broken": result.n_broken,
                }
            )
            if failure is not None:
                _write_line(
                    {
                        "kind": "failure",
                        "law": law.id,
                        "found": failure.found,
                        "case": asdict(failure.case),
                        "repeat": self._repeat(failure),
                    }
                )
            return
        standing = f"broken in {result.n_broken} of" if failure else "holds in"
        n = plural(result.n_checked, "case")
        cases = f"{standing} {n}" if result.n_checked else "says nothing here"
        sys.stdout.write(f"{law.id:<20}{cases}: {law.sentence}\n")
        if failure is not None:
            sys.stdout.write(
                f"{'':<20}smallest: {failure.found}\n{'':<20}{self._repeat(failure)}\n"
            )

    def end(self, results: Sequence[LawResult]) -> None:
        """The sum."""
        n_checked = sum(result.n_checked for result in results)
        broken = [result.law.id for result in results if result.failure is not None]
        if self._as_json:
            _write_line({"kind": "end", "holds": not broken, "checked": n_checked})
            return
        if broken:
            laws = plural(len(results), "law")
            sys.stdout.write(
                f"{len(broken)} of {laws} {'is' if len(results) == 1 else 'are'} broken\n"
            )
            if self._path is not None:
                sys.stdout.write(f"tests that fail as these cases do: {self._path}\n")
        else:
            laws = "the law holds" if len(results) == 1 else f"all {len(results)} laws hold"
            sys.stdout.write(f"{laws} in {plural(n_checked, 'case')}\n")

    def _repeat(self, failure: Failure) -> str:
        """The command that shows this failure alone."""
        command = ["kvscope", "battery", "--case", failure.case.words()]
        for path in self._arguments.fault_file:
            command += ["--fault-file", str(path)]
        for use in self._faults:
            command += ["--fault", _fault_words(use)]
        if self._arguments.dtype != "float64":
            command += ["--dtype", self._arguments.dtype]
        return shlex.join(command)


def _fault_words(use: FaultUse) -> str:
    layers = "" if use.layers is None else f":layers={','.join(map(str, use.layers))}"
    return f"{use.id}{layers}"


def _write_line(line: dict[str, object]) -> None:
    sys.stdout.write(f"{json.dumps(line, allow_nan=False)}\n")
