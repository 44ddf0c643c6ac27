"""All runs that can be looked at, each named by what differs from the one before."""

from collections.abc import Iterator
from dataclasses import dataclass

from core.readouts.per_step import once
from core.readouts.run_summary import RunSummary, summary
from core.readouts.run_view import RunView
from core.spec import Decode, FaultUse, Request, RunSpec

_WORDS = {
    "model": "model",
    "policy": "policy",
    "capacity": "capacity",
    "sinks": "sinks",
    "chunk": "chunk",
    "temperature": "temperature",
    "top_k": "top-k",
    "top_p": "top-p",
    "seed": "seed",
    "device": "device",
    "dtype": "",
}
"""Settings by the word that stands before their value."""


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run.

    Attributes:
        number: its number, for whoever asks for it.
        name: what differs from the one before it; the first is named by its settings.
        n_steps: steps there are.
        first_wrong: its first wrong step; None: none is known.
        said: what the engine chose to say first.
        is_shown: whether it is the one looked at.
    """

    number: int
    name: str
    n_steps: int
    first_wrong: int | None
    said: str
    is_shown: bool


@dataclass(frozen=True, slots=True)
class RunsReadout:
    """The runs, the oldest first."""

    lines: tuple[RunLine, ...]


def runs_readout(view: RunView) -> RunsReadout:
    """The runs that are kept, and the one looked at among them: the same for every step of it."""
    made_of = (view.spec, view.records, view.verdicts, view.other_runs)
    return once(view, _runs, *made_of)


def _runs(view: RunView) -> RunsReadout:
    shown = summary(view.run_number, view.spec, view.records, view.verdicts, view.token_text)
    runs = sorted((*view.other_runs, shown), key=lambda run: run.number)
    befores = [None, *runs[:-1]]
    return RunsReadout(
        tuple(
            RunLine(
                number=run.number,
                name=run_name(run, before),
                n_steps=run.n_steps,
                first_wrong=run.first_wrong,
                said=run.said,
                is_shown=run.number == view.run_number,
            )
            for run, before in zip(runs, befores, strict=True)
        )
    )


def run_name(run: RunSummary, before: RunSummary | None) -> str:
    """What differs from the run before, in words; of the first run, what it is."""
    if before is None:
        spec = run.spec
        faults = (_fault_words(use) for use in spec.faults)
        parts = [spec.model, f"{spec.policy}, capacity {spec.capacity}", *faults]
        return " · ".join(parts)
    return " · ".join(_changes(run, before)) or "the same again"


def _changes(run: RunSummary, before: RunSummary) -> Iterator[str]:
    new, old = run.spec, before.spec
    yield from _settings(new, old)
    is_same_prompt = new.prompt_ids == old.prompt_ids
    if not is_same_prompt:
        yield f"prompt “{run.prompt}”"
    elif _script(new) != _script(old):
        yield "other requests"
    yield from _faults(new, old)
    if is_same_prompt:
        yield from _forced(run, before)


def _settings(new: RunSpec, old: RunSpec) -> Iterator[str]:
    for name, word in _WORDS.items():
        value = getattr(new, name)
        if value != getattr(old, name):
            shown = "none" if value is None else f"{value}"
            yield f"{word} {shown}".strip()
    if new.reassign_positions != old.reassign_positions:
        yield "positions re-assigned" if new.reassign_positions else "positions kept"


def _faults(new: RunSpec, old: RunSpec) -> Iterator[str]:
    for use in new.faults:
        if use not in old.faults:
            yield _fault_words(use)
    for use in old.faults:
        if all(use.id != other.id for other in new.faults):
            yield f"without {use.id}"


def _script(spec: RunSpec) -> tuple[Request, ...]:
    """Requests after the prompt; how many decodes end them is no difference."""
    requests = list(spec.requests or ())[1:]
    while requests and isinstance(requests[-1], Decode):
        requests.pop()
    return tuple(requests)


def _fault_words(use: FaultUse) -> str:
    words = use.id
    if use.first_step:
        words += f" from step {use.first_step}"
    if use.last_step is not None:
        words += f" to step {use.last_step}"
    if use.layers is not None:
        words += f" in layers {', '.join(map(str, use.layers))}"
    return words


def _forced(run: RunSummary, before: RunSummary) -> Iterator[str]:
    known, now = dict(before.forced), dict(run.forced)
    n_prompt = len(run.spec.prompt_ids)
    for place, text in now.items():
        if known.get(place) != text:
            yield f"'{text}' forced as token {n_prompt + place}"
    if known.keys() - now.keys():
        yield "fewer tokens forced"
