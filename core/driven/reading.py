"""The calls of somebody's model over a text, beside its own forward without a cache."""

import numpy as np

from core.arrays import as_ids
from core.contract.model.facts import Call
from core.contract.model.subject import FellError, ModelSubject
from core.contract.run_plan import Reading
from core.contract.subject import NotDrivableError
from core.foreign.trace import ForeignTrace


def recorded(subject: ModelSubject, reading: Reading) -> tuple[ForeignTrace, str]:
    """What the calls gave, and why they end before their time; empty: they do not.

    Raises:
        NotDrivableError: not even the first one gave anything.
    """
    calls, ended = list[Call](), ""
    ids = [list(reading.ids)]
    try:
        for call in subject.decode(ids, reading.chunks, with_numbers=True):
            if call.logits is None:
                said = ": ".join(call.raised or ())
                ended = f"call {len(calls)} raises, and is the last: {said}"
                break
            calls.append(call)
    except FellError as error:
        ended = f"call {len(calls)} is the last: {error}"
    if not calls:
        raise NotDrivableError(ended)
    right = subject.uncached(ids, with_numbers=True)
    assert right.logits is not None  # noqa: S101  (they were asked for)
    ends = [call.end for call in calls]
    logits = np.stack([call.logits for call in calls if call.logits is not None])
    about = subject.about
    trace = ForeignTrace(
        engine=about.model,
        dtype=about.dtype,
        token_ids=as_ids(reading.ids[: ends[-1]]),
        n_tokens=as_ids([call.n for call in calls]),
        logits=logits,
        reference=right.logits[0, [end - 1 for end in ends]],
        spread=right.spread,
    )
    return trace, ended
