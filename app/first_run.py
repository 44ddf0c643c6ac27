"""The run that the window opens with: read from a file, so that it is there before the engine."""

from dataclasses import dataclass
from types import MappingProxyType

from app.draft import Draft
from app.held_run import HeldRun
from app.messages import Started
from core.errors import CoreError
from core.faults.scenarios import ANSWER_SOURCE, ANSWER_STEP, FILLING
from core.model.token_text import TokenTexts
from core.readouts.run_history import RunHistory
from core.record import StepRecord
from core.selection import Selection
from core.trace import Trace
from core.tracefile import OpenedTrace, open_trace
from resources import resource_path

START_FILE = resource_path("start", "start.kvtrace")
NO_NUMBER = 0


@dataclass(frozen=True, slots=True, eq=False)
class FirstRun:
    """What to show at the start, and what the form says of it."""

    draft: Draft
    held: HeldRun


def first_run() -> FirstRun | None:
    """The run that ships with the program; None: its file cannot be read.

    Imports neither torch nor the tokenizers' library.
    """
    draft = Draft.of_scenario(FILLING)
    try:
        opened = open_trace(START_FILE)
        json_text = resource_path("models", draft.model, "tokenizer.json").read_text("utf-8")
        texts = TokenTexts(json_text)
    except (CoreError, OSError):
        return None
    if opened.trace is None:
        return None
    return FirstRun(draft, _held(draft, opened.trace, opened, texts))


def _held(draft: Draft, trace: Trace, opened: OpenedTrace, texts: TokenTexts) -> HeldRun:
    started = Started(NO_NUMBER, draft, trace.spec, trace.model, texts.token_text)
    records = tuple(trace.records)
    return HeldRun(
        started=started,
        spec=trace.spec,
        records=records,
        clean=(),
        verdicts=MappingProxyType({verdict.step: verdict for verdict in opened.verdicts}),
        end=trace.end,
        selection=answer_selection(records),
        history=RunHistory(records),
        clean_history=RunHistory(),
    )


def answer_selection(records: tuple[StepRecord, ...]) -> Selection:
    """The step of the answer, the token that it is taken from, and the head that looks at it most.

    In a run without a fault, and with nothing evicted, a token's slot and position are its index.
    """
    weights = [layer.weights[:, -1, ANSWER_SOURCE] for layer in records[ANSWER_STEP].layers]
    places = [(layer, head) for layer, heads in enumerate(weights) for head in range(len(heads))]
    layer, head = max(places, key=lambda place: float(weights[place[0]][place[1]]))
    return Selection(
        step=ANSWER_STEP,
        layer=layer,
        head=head,
        token_index=ANSWER_SOURCE,
        slot=ANSWER_SOURCE,
        position_id=ANSWER_SOURCE,
    )
