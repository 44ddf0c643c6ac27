"""`kvscope export` and `kvscope compare`: what is done with trace files."""

import argparse
import sys
from pathlib import Path

import numpy as np

from app.cli_own import known_faults
from core.errors import FaultError, TraceError
from core.faults.known import KnownFaults
from core.foreign.checks import checked
from core.foreign.compare import as_foreign, compare_foreign
from core.foreign.file import is_own, read_foreign
from core.foreign.trace import ForeignTrace
from core.readouts.exported import exported
from core.trace import Trace
from core.trace_compare import Band, TraceDifference, band_of, first_trace_difference
from core.tracefile import OpenedTrace, open_trace
from core.whole_files import check_writable, replacing

DONE, CHECK_FAILED = 0, 1


def export(arguments: argparse.Namespace) -> int:
    """Write numbers of a trace to a .npz file; the exit status.

    Raises:
        CoreError: a trace that cannot be read or run again, or a file that cannot be written.
    """
    if arguments.out.resolve() == arguments.trace.resolve():
        raise TraceError(f"--out {arguments.out} is the trace itself; give another name")
    known = known_faults(arguments.fault_file)
    check_writable(arguments.out)
    trace = _trace(arguments.trace, known)
    arrays = exported(trace, arguments.tensors)
    with replacing(arguments.out) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)  # pyright: ignore[reportArgumentType]
    sys.stdout.write(f"{arguments.out}: {len(arrays)} arrays of {len(trace.records)} steps\n")
    return DONE


def compare(arguments: argparse.Namespace) -> int:
    """Say where two traces first differ; the exit status.

    Raises:
        CoreError: a trace that cannot be read or run again.
    """
    known = known_faults(arguments.fault_file)
    paths = Path(arguments.a), Path(arguments.b)
    if not all(is_own(path) for path in paths):
        return _compare_foreign(paths, known, arguments)
    a, b = (_trace(path, known) for path in paths)
    difference = first_trace_difference(a, b)
    sys.stdout.write(f"{_difference_words(difference, len(a.records))}\n")
    sys.stdout.write(f"{_band_words(band_of(a, b))}\n")
    return CHECK_FAILED if arguments.check and difference is not None else DONE


def _compare_foreign(
    paths: tuple[Path, Path], known: KnownFaults, arguments: argparse.Namespace
) -> int:
    a, b = (_foreign(path, known) for path in paths)
    found = compare_foreign(a, b)
    sys.stdout.write(f"{_difference_words(found.difference, found.n_compared)}\n")
    sys.stdout.write(
        f"logits compared after {found.n_compared} texts; they count as equal within "
        f"{found.band:.1e} times the largest or 1, what rounding does in {found.dtype}\n"
    )
    return CHECK_FAILED if arguments.check and found.difference is not None else DONE


def _foreign(path: Path, known: KnownFaults) -> ForeignTrace:
    """The tokens and logits of a file of any engine."""
    if not is_own(path):
        return checked(path, read_foreign(path).trace)
    trace = _trace(path, known)
    try:
        return as_foreign(trace)
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from None


def _trace(path: Path, known: KnownFaults) -> Trace:
    """The run of a file; that of a small one is made again, and what came of it is said."""
    opened = open_trace(path)
    return opened.trace or _made_again(path, opened, known)


def _made_again(path: Path, opened: OpenedTrace, known: KnownFaults) -> Trace:
    from core.trace_rerun import model_of, rerun  # here: it needs torch, a full file does not

    try:
        again = rerun(opened, model_of(opened), known)
    except FaultError as error:
        raise FaultError(f"{path}: {error}; a full trace needs none of it") from error
    place = "the same machine and versions" if again.is_same_place else "other machine or versions"
    if again.agreement == "different":
        raise TraceError(
            f"{path}: made again ({place}), its run differs from the recorded one from step "
            f"{again.first_different_step} on; give a full trace (kvscope run --trace)"
        )
    sys.stderr.write(f"kvscope: {path}: run made again ({place}): {again.agreement}\n")
    return again.trace


def _difference_words(difference: TraceDifference | None, n_steps: int) -> str:
    if difference is None:
        return f"equal: {n_steps} steps"
    places = {"layer": difference.layer, "head": difference.head}
    where = "".join(f", {name} {n}" for name, n in places.items() if n is not None)
    return (
        f"first difference: step {difference.step}{where}, {difference.field}\n"
        f"  A: {difference.left}\n"
        f"  B: {difference.right}"
    )


def _band_words(band: Band) -> str:
    return (
        f"numbers count as equal within {band.inside:.1e} (logits {band.logits:.1e}) times the "
        f"largest of their tensor or 1, the rounding of {band.dtype}"
    )
