"""Runs of the tiny models, each made once, as views to make readouts from."""

from dataclasses import replace
from functools import cache

from core.judge import Judge
from core.model.loading import LoadedModel, load_model
from core.readouts.run_history import RunHistory
from core.readouts.run_view import RunView
from core.record import StepRecord
from core.selection import Selection
from core.session import Session
from core.spec import Decode, FaultUse, NewPrompt, Prefill, Probe, Rollback, RunSpec, Verify
from core.trace import Trace
from core.verdict import StepVerdict

PROMPT = "Who is "
"""Seven bytes, so seven tokens."""
PROMPT_IDS = tuple(PROMPT.encode())

PLAIN = RunSpec(model="tiny-learned", prompt_ids=PROMPT_IDS, steps=5, capacity=12)
ROPE = replace(PLAIN, model="tiny-rope")
WINDOW = replace(PLAIN, policy="window", capacity=8)
SINKS = replace(PLAIN, policy="sinks", capacity=8, sinks=2)
RANKED = replace(SINKS, model="tiny-rope", reassign_positions=True)
REPREFILL = replace(PLAIN, policy="reprefill", capacity=8)
CHUNKED = replace(PLAIN, chunk=3)
FORCED = replace(PLAIN, force_ids=(None, 65))
LONG = replace(PLAIN, prompt_ids=tuple(range(100, 250)), steps=0, capacity=160)
SKIPPED = replace(
    REPREFILL, steps=0, requests=(Prefill(PROMPT_IDS), NewPrompt(tuple(range(65, 77))), Decode())
)
"""A new text of twelve tokens for eight slots: the first four are never computed."""
NOTHING = replace(PLAIN, steps=0, capacity=4, requests=(Prefill(PROMPT_IDS),))
FULL = replace(PLAIN, steps=6)
ROLLED_BACK = replace(
    PLAIN,
    steps=0,
    requests=(Prefill(PROMPT_IDS), *(Decode(),) * 6, Rollback(3), Decode(), Decode()),
)
TWICE_REFUSED = replace(
    PLAIN,
    steps=0,
    requests=(Prefill(PROMPT_IDS), *(Decode(),) * 7, Rollback(3), Decode()),
)
NEW_TEXT = replace(
    PLAIN, steps=0, requests=(Prefill(PROMPT_IDS), Decode(), NewPrompt((65, 66)), Decode())
)
PROBED = replace(
    PLAIN, steps=0, requests=(Prefill(PROMPT_IDS), Decode(), Probe(1, 1), Decode(), Decode())
)
PROBE_LEFT = replace(
    ROPE, steps=0, requests=(Prefill(PROMPT_IDS), Probe(1, 1), Rollback(1), Decode())
)
UNEVEN = replace(
    PLAIN, steps=0, requests=(Prefill(PROMPT_IDS), Decode(), Probe(2, 1), Decode(), Decode())
)
VERIFIED = replace(
    PLAIN,
    steps=0,
    capacity=16,
    requests=(Prefill(PROMPT_IDS), Decode(), Verify((65, 66, 67), 1), Decode()),
)
"""Step 2 reads tokens 8 to 11, keeps the first draft, token 9, and rejects 10 and 11."""


def with_fault(spec: RunSpec, *ids: str, layers: tuple[int, ...] | None = None) -> RunSpec:
    """The spec with faults switched on."""
    return replace(spec, faults=tuple(FaultUse(name, layers=layers) for name in ids))


def view_of(spec: RunSpec, step: int, **selection: int) -> RunView:
    """The whole run with all its verdicts, looked at in a step."""
    run, verdicts = _run(spec), _verdicts(spec)
    clean = tuple(_run(replace(spec, faults=())).records) if spec.faults else ()
    return _view(spec, run, verdicts, clean, Selection(step=step, **selection))


def pending_view_of(spec: RunSpec, step: int, **selection: int) -> RunView:
    """The same without a verdict and without a clean run."""
    return _view(spec, _run(spec), {}, (), Selection(step=step, **selection))


def _view(
    spec: RunSpec,
    run: Trace,
    verdicts: dict[int, StepVerdict],
    clean: tuple[StepRecord, ...],
    selection: Selection,
) -> RunView:
    text = _model(spec.model).tokenizer.token_text
    return RunView(
        spec=spec,
        model=run.model,
        records=tuple(run.records),
        verdicts=verdicts,
        clean=clean,
        token_text=text,
        selection=selection,
        history=_history(spec),
        clean_history=RunHistory(clean),
    )


@cache
def _model(name: str) -> LoadedModel:
    return load_model(name)


@cache
def _run(spec: RunSpec) -> Trace:
    return Session(spec, _model(spec.model)).run()


@cache
def _history(spec: RunSpec) -> RunHistory:
    return RunHistory(_run(spec).records)


@cache
def _verdicts(spec: RunSpec) -> dict[int, StepVerdict]:
    judge = Judge(_run(spec), _model(spec.model))
    return {verdict.step: verdict for verdict in judge.update()}
