"""`kvscope validate`: is a .kvtrace well formed, and what does it tell?"""

import argparse
import sys
from pathlib import Path

from app.standard_streams import complain
from core.errors import TraceError
from core.foreign.checkpoint import judged_by
from core.foreign.checks import account, problems, verdict_words
from core.foreign.file import is_own, read_foreign
from core.tracefile import OpenedTrace, open_trace

DONE, CHECK_FAILED = 0, 1


def validate(arguments: argparse.Namespace) -> int:
    """Say whether a file is well formed, and what is in it; the exit status.

    Raises:
        CoreError: it cannot be read, or the checkpoint that is to judge it cannot.
    """
    path, folder = arguments.file, arguments.reference
    if is_own(path):
        if folder is not None:
            raise TraceError(
                f"--reference is for traces from elsewhere; {path} is of a run of kvscope, which "
                "has its verdicts in it"
            )
        return _own(path, open_trace(path))
    file = read_foreign(path)
    found = problems(file.trace)
    for problem in found:
        complain(f"{path}: {problem}")
    if found:
        return CHECK_FAILED
    lines, is_wrong = account(file), False
    if folder is not None:
        judged, who = judged_by(file.trace, folder)
        lines.append(f"by {who} for {folder}: {verdict_words(judged)}")
        is_wrong = "wrong" in judged.standings
    _tell(path, "well formed, a trace from elsewhere", lines)
    return CHECK_FAILED if is_wrong else DONE


def _own(path: Path, opened: OpenedTrace) -> int:
    recorded = opened.recorded
    vocabulary = recorded.model.config.vocab_size
    for step, ids in enumerate(recorded.token_ids):
        outside = [one for one in ids if not 0 <= one < vocabulary]
        if outside:
            complain(
                f"{path}: step {step} reads token {outside[0]}, outside the vocabulary: ids go "
                f"from 0 to {vocabulary - 1}"
            )
            return CHECK_FAILED
    n = len(recorded.digests)
    lines = [f"{recorded.model.name}, {opened.spec.dtype}, policy {opened.spec.policy}: {n} steps"]
    if opened.trace is None:
        lines.append("small: digests, no arrays; opening it makes the run again and compares")
        lines.append("verdict: comes with the run, when it is made again")
    else:
        wrong = [one.step for one in opened.verdicts if one.is_wrong]
        first = f", first in step {wrong[0]}" if wrong else ""
        lines.append("full: every array of every step; the digests fit")
        lines.append(f"verdict: on {len(opened.verdicts)} steps; {len(wrong)} wrong{first}")
    _tell(path, "well formed, a trace of a run of kvscope", lines)
    return DONE


def _tell(path: Path, title: str, lines: list[str]) -> None:
    sys.stdout.write(f"{path}: {title}\n")
    for line in lines:
        sys.stdout.write(f"  {line}\n")
