"""`kvscope battery`: properties of the cache that need no reference."""

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from app.cli_own import faults_on, known_faults
from app.cli_progress import Counter
from core.battery.bench import Bench
from core.battery.case import Case, read_case
from core.battery.checks import Failure, LawResult, check_law, law_of
from core.battery.law import Law
from core.battery.laws import cases_of, laws_of
from core.battery.names import DEFAULT_MODELS
from core.battery.written_tests import test_file
from core.errors import FaultError, SpecError
from core.faults.activation import activate
from core.faults.guard import blaming
from core.faults.known import KnownFaults
from core.faults.use_text import text_of
from core.model.loading import load_model
from core.readouts.words import plural
from core.spec import FaultUse
from core.whole_files import check_holds_written_tests, check_writable, replacing

DONE, CHECK_FAILED = 0, 1


def battery(arguments: argparse.Namespace) -> int:
    """Check the properties and say what does not hold; the exit status.

    Raises:
        CoreError: input that cannot be used.
    """
    known = known_faults(arguments.fault_file)
    faults = faults_on(arguments.fault, known)
    _check_every_step(faults)
    if arguments.write_tests is not None:
        check_holds_written_tests(arguments.write_tests)
        check_writable(arguments.write_tests)
    work = _work(arguments, faults, known)
    bench = Bench(faults, dtype=arguments.dtype, known=known)
    told = _Told(arguments, faults)
    told.begin()
    results: list[LawResult] = []
    try:
        with blaming([fault.where for fault in known.own_of(faults)]):
            for law, cases in work:
                results.append(_result(arguments, law, cases, bench))
                told.law(results[-1])
    finally:  # whatever stops it, what was found by then is told and written
        _finish(arguments, faults, results, told, [law for law, _ in work])
    return CHECK_FAILED if any(result.failure for result in results) else DONE


def _result(arguments: argparse.Namespace, law: Law, cases: list[Case], bench: Bench) -> LawResult:
    """What comes of a law, which counts its cases on standard error."""
    counter = Counter(f"{law.id}: case", len(cases))
    result = check_law(law, cases, bench, at=counter.next)
    counter.done()
    if arguments.case is not None and result.why_silent is not None:
        raise SpecError(f"--case: {law.id} says nothing of this case: {result.why_silent}")
    return result


def _finish(
    arguments: argparse.Namespace,
    faults: Sequence[FaultUse],
    results: Sequence[LawResult],
    told: "_Told",
    laws: Sequence[Law],
) -> None:
    """Write the tests of what is broken, and tell the sum."""
    failures = [result.failure for result in results if result.failure is not None]
    if arguments.write_tests is not None and failures:
        with replacing(arguments.write_tests) as temporary:
            files = [str(path.resolve()) for path in arguments.fault_file]
            text = test_file(failures, list(map(text_of, faults)), arguments.dtype, files)
            temporary.write_text(text, encoding="utf-8")
    if results:
        told.end(results, laws)


def _work(
    arguments: argparse.Namespace, faults: tuple[FaultUse, ...], known: KnownFaults
) -> list[tuple[Law, list[Case]]]:
    """Laws with their cases, all of which keep the layers that a fault names."""
    least_layers = 1 + max((n for use in faults for n in use.layers or ()), default=0)
    if arguments.case is not None:
        case = read_case(arguments.case)
        law = law_of(case)
        n_layers = load_model(case.model).config.n_layers
        activate(faults, n_layers, known)
        _check_layers(case, least_layers, n_layers)
        return [(law, [case])]
    models = arguments.model or DEFAULT_MODELS
    for model in models:
        activate(faults, load_model(model).config.n_layers, known)
    return [
        (law, cases_of(law, models, arguments.seed, arguments.most, least_layers))
        for law in laws_of(arguments.only)
    ]


def _check_layers(case: Case, least: int, n_layers: int) -> None:
    """Raise SpecError where a case lacks a layer that a fault names, or has more than its model."""
    if case.layers > n_layers:
        raise SpecError(
            f"--case: layers={case.layers}; {case.model} has {n_layers}: give layers={n_layers} "
            "or fewer"
        )
    if case.layers < least:
        raise SpecError(
            f"--case: layers={case.layers} leaves layer {least - 1} out, which --fault names; "
            f"give layers={least} or more"
        )


def _check_every_step(uses: Sequence[FaultUse]) -> None:
    for use in uses:
        if use.first_step != 0 or use.last_step is not None:
            raise FaultError(
                f"--fault {text_of(use)} with steps: the runs that are compared have different "
                f"steps; leave @FROM-TO out: {text_of(replace(use, first_step=0, last_step=None))}"
            )


class _Told:
    """What is printed."""

    def __init__(self, arguments: argparse.Namespace, faults: Sequence[FaultUse]) -> None:
        self._as_json: bool = arguments.json
        self._arguments = arguments
        self._faults = faults
        self._path: Path | None = arguments.write_tests

    def begin(self) -> None:
        """What is about to be checked."""
        names = [text_of(use) for use in self._faults]
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

    def end(self, results: Sequence[LawResult], laws: Sequence[Law]) -> None:
        """The sum; where there are fewer results than laws, also in which one it stopped."""
        n_checked = sum(result.n_checked for result in results)
        broken = [result.law.id for result in results if result.failure is not None]
        stopped_in = laws[len(results)].id if len(results) < len(laws) else None
        if self._as_json:
            is_open = stopped_in is not None or n_checked == 0
            holds = False if broken else None if is_open else True
            line: dict[str, object] = {"kind": "end", "holds": holds, "checked": n_checked}
            _write_line(line if stopped_in is None else {**line, "stopped_in": stopped_in})
            return
        if stopped_in is not None:
            sys.stdout.write(f"stopped in {stopped_in}, after {len(results)} of {len(laws)} laws\n")
        if broken:
            n = plural(len(results), "law")
            is_are = "is" if len(broken) == 1 else "are"
            sys.stdout.write(f"{len(broken)} of {n} {is_are} broken\n")
            if self._path is not None:
                sys.stdout.write(f"tests that fail as these cases do: {self._path}\n")
        else:
            sys.stdout.write(f"{_sum_of_holding(results, n_checked)}\n")

    def _repeat(self, failure: Failure) -> str:
        """The command that shows this failure alone."""
        command = ["kvscope", "battery", "--case", failure.case.words()]
        for path in self._arguments.fault_file:
            command += ["--fault-file", str(path)]
        for use in self._faults:
            command += ["--fault", text_of(use)]
        if self._arguments.dtype != "float64":
            command += ["--dtype", self._arguments.dtype]
        return shlex.join(command)


def _sum_of_holding(results: Sequence[LawResult], n_checked: int) -> str:
    """Where no law is broken; one that says nothing of any case does not hold."""
    n_said = sum(result.n_checked > 0 for result in results)
    n_silent = len(results) - n_said
    if n_said == 0:
        return "no law says anything here"
    words = "the law holds" if n_said == 1 else f"{n_said} laws hold"
    if n_said > 1 and not n_silent:
        words = f"all {words}"
    silent = f"; {n_silent} {'says' if n_silent == 1 else 'say'} nothing here" if n_silent else ""
    return f"{words} in {plural(n_checked, 'case')}{silent}"


def _write_line(line: dict[str, object]) -> None:
    sys.stdout.write(f"{json.dumps(line, allow_nan=False)}\n")
