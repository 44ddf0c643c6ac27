"""Runs whose rows are changed in every decode step, and what the sanitizer finds in them."""

from core.judge import Judge
from core.liveness import Liveness, is_tried, liveness_of
from core.model.loading import LoadedModel
from core.sanitizer import Sanitizer
from core.session import Session
from core.spec import RunSpec
from core.trace import Trace
from tests.helpers.runs import judged


def changed_rows(spec: RunSpec, loaded: LoadedModel) -> tuple[Trace, list[Liveness]]:
    """The run, and what changing rows did in each decode step."""
    session = Session(spec, loaded)
    judge = Judge(session.trace, loaded)
    sanitizer = Sanitizer(loaded.config.n_layers, spec.n_sequences)
    found: list[Liveness] = []
    while (rehearsal := session.rehearsal()) is not None:
        record = session.advance()
        (verdict,) = judge.update()
        if is_tried(record, 1):
            shadow = sanitizer.shadow(record.request)
            found.append(liveness_of(rehearsal, record, verdict.expected, shadow, spec.seed))
        sanitizer.follow(session.trace.records, verdict)
    return session.trace, found


def sanitized(spec: RunSpec, loaded: LoadedModel) -> tuple[Trace, Sanitizer]:
    """The run, and the weight on dead rows in it."""
    found = judged(spec, loaded)
    sanitizer = Sanitizer(loaded.config.n_layers, spec.n_sequences)
    for verdict in found.verdicts:
        sanitizer.follow(found.trace.records, verdict)
    return found.trace, sanitizer
