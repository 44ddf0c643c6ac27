"""`kvscope run`: decode without a window."""

import argparse
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from app.cli_checks import Checks, check_errors_of
from app.cli_output import AccountPrinter, JsonPrinter, Printer, most_steps
from app.cli_own import faults_on, known_faults
from app.cli_progress import Counter
from app.cli_spec import model_name, scenario_of, spec_of
from core.errors import CoreError, SpecError
from core.faults.activation import check_steps
from core.faults.guard import blaming
from core.judge import Judge
from core.model.loading import load_model
from core.session import Session
from core.tracefile import save_trace
from core.verdict import StepVerdict
from core.whole_files import check_writable

DONE, CHECK_FAILED, INTERRUPTED = 0, 1, 130
_SMALLEST_BATCH = 32


def run(arguments: argparse.Namespace) -> int:
    """Carry `kvscope run` out.

    Returns:
        The exit status.

    Raises:
        CoreError: input that cannot be used.
        OSError: the output cannot be written, or its reader has left; the trace is written all
            the same.
    """
    known = known_faults(arguments.fault_file)
    faults = faults_on(arguments.fault, known)
    scenario = scenario_of(arguments, faults, known)
    path: Path | None = arguments.trace
    if path is not None:
        check_writable(path)
    loaded = load_model(model_name(arguments, scenario))
    spec = spec_of(arguments, scenario, loaded, faults)
    check_steps(faults, most_steps(spec), known)
    check_errors_of(arguments.errors, most_steps(spec))
    session = Session(spec, loaded, known=known)
    trace, judge = session.trace, Judge(session.trace, loaded)
    checks = Checks(session, judge, arguments.liveness, arguments.errors)
    printer: Printer
    if arguments.json:
        printer = JsonPrinter(trace, judge.verdicts, loaded.tokenizer, checks)
    else:
        printer = AccountPrinter(trace, judge.verdicts, loaded.tokenizer, known, checks)
    failed: OSError | CoreError | None
    with blaming(session.own):
        failed = _run(session, judge, checks, printer, has_file=path is not None)
    is_told = failed is None
    if path is not None:
        try:
            save_trace(path, trace, full=True, verdicts=judge.verdicts)
        except CoreError as error:
            failed = error
    if is_told:
        with blaming(session.own):
            printer.end(None if failed else path)
    if failed is not None:
        raise failed
    return _status(session, judge, checks, is_check=arguments.check)


def _status(session: Session, judge: Judge, checks: Checks, *, is_check: bool) -> int:
    """The exit status of a run that is over and told."""
    if session.trace.end == "cancelled":
        return INTERRUPTED
    if checks.missing is not None:
        raise SpecError(checks.missing)  # the run ended early, which is known only now
    is_wrong = checks.is_wrong or any(verdict.is_wrong for verdict in judge.verdicts)
    return CHECK_FAILED if is_check and is_wrong else DONE


def _run(
    session: Session, judge: Judge, checks: Checks, printer: Printer, *, has_file: bool
) -> OSError | None:
    """Run to the end; returns why what was to be told could not be written.

    A reader that leaves, or a full disk, ends a run that goes to no file.
    """
    with _ctrl_c_sets(cancel := threading.Event()):
        try:
            printer.begin()
            _decode(session, judge, checks, cancel, printer.judged)
        except OSError as error:
            if has_file:
                _decode(session, judge, checks, cancel, _tell_nobody)
            return error
    return None


def _decode(
    session: Session,
    judge: Judge,
    checks: Checks,
    cancel: threading.Event,
    report: Callable[[list[StepVerdict]], None],
) -> None:
    """Run to the end, or until `cancel` is set.

    Verdicts cost a forward over the whole run, whenever they are asked for: so batches grow.
    """
    trace, progress = session.trace, Counter("step", most_steps(session.trace.spec))
    while not cancel.is_set():
        checks.before_step()
        if session.advance() is None:
            break
        session.trace.pack_newest()  # a long run would hold several times what its records say
        checks.after_step()
        n_judged = len(judge.verdicts)
        progress.at(len(trace.records))
        is_batch = len(trace.records) - n_judged >= max(_SMALLEST_BATCH, n_judged)
        if is_batch or checks.is_waiting:
            _judge_and_tell(judge, checks, report)
    trace.end = trace.end or "cancelled"
    progress.done()
    _judge_and_tell(judge, checks, report)


def _judge_and_tell(
    judge: Judge, checks: Checks, report: Callable[[list[StepVerdict]], None]
) -> None:
    new = judge.update()
    checks.follow(new)
    report(new)


def _tell_nobody(verdicts: list[StepVerdict]) -> None:
    """Do nothing: the output cannot be written."""


@contextmanager
def _ctrl_c_sets(cancel: threading.Event) -> Generator[None, None, None]:
    """The first Ctrl-C is looked at between two steps; the second one interrupts at once."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        if cancel.is_set():
            raise KeyboardInterrupt
        cancel.set()

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
