"""`kvscope faults`: the list of faults."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from app.cli_own import known_faults
from app.script_words import script_words
from core.faults.catalog import COMBINATIONS, FAULTS, find_faults
from core.faults.fault import Scenario
from core.faults.known import KnownFaults
from core.spec import Decode
from core.trace_json import to_json


def faults(*, as_json: bool, files: Sequence[Path] = ()) -> int:
    """Print every fault and every named combination, those of `files` last; the exit status.

    Raises:
        FaultError: a file that cannot be used; nothing is printed.
    """
    known = known_faults(files)
    for row, scenario in (*_rows(), *_own_rows(known)):
        line = json.dumps({**row, "scenario": to_json(scenario)})
        sys.stdout.write(f"{line if as_json else _text(row, scenario)}\n")
    return 0


def _rows() -> Iterator[tuple[dict[str, Any], Scenario]]:
    """What there is to say of each fault and each combination, and what shows it."""
    for fault in FAULTS:
        yield (
            {
                "kind": "fault",
                "id": fault.id,
                "title": fault.title,
                "seam": fault.seam,
                "tier": fault.tier,
                "hides_in": None if fault.hides_in is None else to_json(fault.hides_in),
                "why_hidden": fault.why_hidden,
            },
            fault.shows_in,
        )
    for name in COMBINATIONS:
        members = find_faults(name)
        yield (
            {
                "kind": "combination",
                "id": name,
                "title": " + ".join(fault.id for fault in members),
                "seam": [fault.seam for fault in members],
                "tier": max(fault.tier for fault in members),
            },
            members[0].shows_in,
        )


def _own_rows(known: KnownFaults) -> Iterator[tuple[dict[str, Any], Scenario]]:
    """The same of the faults of one's own, which have no tier but a file."""
    for fault in known.own:
        row = {"kind": "own fault", "id": fault.id, "title": fault.title, "seam": fault.seam}
        yield {**row, "file": str(fault.path)}, fault.shows_in


def _text(row: dict[str, Any], scenario: Scenario) -> str:
    """Two lines for a fault, one for its scenario, and one for what hides it."""
    then = script_words(scenario.then or (Decode(),) * scenario.steps) or "nothing more"
    rest = f" ({scenario.rest!r} is forced after it)" if scenario.rest else ""
    return (
        f"{row['id']:<21}{row['title']}\n"
        f"{'':<21}seam {_names(row['seam'])}, {_place(row)}\n"
        f"{'':<21}shown by: model {scenario.model}, {scenario.policy}, capacity "
        f"{scenario.capacity}{_more(scenario)}, prompt {scenario.prompt!r}{rest}, then {then}\n"
        f"{_hidden(row)}"
    )


def _hidden(row: dict[str, Any]) -> str:
    """Why a scenario hides the fault; combinations and faults of one's own do not say."""
    if "why_hidden" not in row:
        return ""
    return f"{'':<21}hidden: {row['why_hidden']}\n"


def _more(scenario: Scenario) -> str:
    """Settings that most scenarios leave as they are."""
    words = (
        (scenario.sinks > 0, f"{scenario.sinks} sinks"),
        (scenario.chunk is not None, f"chunks of {scenario.chunk}"),
        (scenario.n_pad > 0, f"{scenario.n_pad} rows of padding"),
        (scenario.kv_dtype is not None, f"rows in {scenario.kv_dtype}"),
        (scenario.growable, "a buffer that grows"),
        (scenario.n_sequences > 1, f"{scenario.n_sequences} beams"),
    )
    return "".join(f", {text}" for is_set, text in words if is_set)


def _place(row: dict[str, Any]) -> str:
    return f"tier {row['tier']}" if "tier" in row else f"from {row['file']}"


def _names(seam: str | list[str]) -> str:
    return seam if isinstance(seam, str) else ", ".join(seam)
