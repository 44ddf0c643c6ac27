"""What `kvscope run` prints: JSON lines as it goes, or an account at the end."""

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from app.cli_account import account
from app.cli_checks import Checks
from core.faults.known import KnownFaults
from core.model.tokenizer import Tokenizer
from core.readouts.lines import end_line, run_line, step_line
from core.spec import NewPrompt, Prefill, RunSpec
from core.trace import Trace
from core.verdict import StepVerdict


class Printer(Protocol):
    """Told what happens, in this order."""

    def begin(self) -> None:
        """The run begins."""
        ...

    def judged(self, verdicts: Sequence[StepVerdict]) -> None:
        """The next steps were judged."""
        ...

    def end(self, saved_at: Path | None) -> None:
        """The run is over and judged, and was written to this file; None: to none."""
        ...


class JsonPrinter:
    """JSON Lines and nothing else."""

    def __init__(
        self,
        trace: Trace,
        verdicts: Sequence[StepVerdict],
        tokenizer: Tokenizer,
        checks: Checks,
    ) -> None:
        """Takes the growing trace and the growing list of its verdicts."""
        self._checks = checks
        self._trace = trace
        self._verdicts = verdicts
        self._tokenizer = tokenizer

    def begin(self) -> None:
        """The line of the run."""
        _write_line(run_line(self._trace.spec, self._trace.model))
        sys.stdout.flush()

    def judged(self, verdicts: Sequence[StepVerdict]) -> None:
        """A line per step."""
        for verdict in verdicts:
            line = step_line(self._trace.records, verdict, self._decode)
            _write_line({**line, **self._checks.parts_of(verdict.step)})
        sys.stdout.flush()

    def end(self, saved_at: Path | None) -> None:
        """The line of the end."""
        reason = self._trace.end or "cancelled"
        _write_line(end_line(self._trace.records, self._verdicts, reason, self._decode))

    def _decode(self, token_ids: Sequence[int]) -> str:
        return self._tokenizer.decode(list(token_ids))


class AccountPrinter:
    """An account for a person, once the run is over."""

    def __init__(
        self,
        trace: Trace,
        verdicts: Sequence[StepVerdict],
        tokenizer: Tokenizer,
        known: KnownFaults,
        checks: Checks,
    ) -> None:
        """Takes the growing trace and the growing list of its verdicts."""
        self._known = known
        self._checks = checks
        self._trace = trace
        self._verdicts = verdicts
        self._tokenizer = tokenizer

    def begin(self) -> None:
        """Nothing yet."""

    def judged(self, verdicts: Sequence[StepVerdict]) -> None:
        """Nothing yet."""

    def end(self, saved_at: Path | None) -> None:
        """The account."""
        found = self._checks.lines()
        for line in account(
            self._trace, self._verdicts, self._tokenizer, saved_at, self._known, found
        ):
            sys.stdout.write(f"{line}\n")


def most_steps(spec: RunSpec) -> int:
    """Steps of the run if nothing ends it early: one per request, and per chunk of a prompt."""
    lengths = (
        len(request.token_ids) if isinstance(request, Prefill | NewPrompt) else 1
        for request in spec.all_requests
    )
    n_chunks = sum(math.ceil(length / (spec.chunk or length)) for length in lengths)
    return n_chunks * spec.n_sequences


def _write_line(line: dict[str, object]) -> None:
    sys.stdout.write(f"{json.dumps(line, allow_nan=False)}\n")
