"""Records the calls of a causal language model of transformers, by hooks on its forward alone.

    with kvscope_recorder(model) as trace:
        model.generate(token_ids, max_new_tokens=20)
    trace.save("run.kvtrace")

Nothing of the model or its cache is changed, and nothing hangs on where its weights lie: what is
kept is brought to the CPU. Any cache will do; it is asked for its length and nothing else.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from core.arrays import FloatArray, as_ids
from core.errors import TraceError
from core.foreign.file import write_foreign
from core.foreign.trace import ForeignTrace

if TYPE_CHECKING:
    import torch

    from core.foreign.calls import Given


@contextmanager
def kvscope_recorder(model: "torch.nn.Module") -> Generator["Recording", None, None]:
    """Record each call of `model` while the block lasts.

    Raises:
        TraceError: a call cannot be recorded: several texts at once, padding, no token ids, a
            second text, a rollback. The call does not take place.
    """
    recording = Recording(model)
    before = model.register_forward_pre_hook(recording.begin, with_kwargs=True)
    after = model.register_forward_hook(recording.end, with_kwargs=True)
    try:
        yield recording
    finally:
        before.remove()
        after.remove()


class Recording:
    """The calls recorded so far."""

    def __init__(self, model: "torch.nn.Module") -> None:
        """Start empty."""
        self._model = model
        self._calls: list[Given] = []
        self._lengths: list[int] = []
        self._logits: list[FloatArray] = []
        self._cache: object = None

    @property
    def n_calls(self) -> int:
        """Calls that are over."""
        return len(self._lengths)

    def trace(self, at: Callable[[], None] = lambda: None) -> ForeignTrace:
        """All calls, with the model's own logits without a cache: a forward for each, and one more.

        Args:
            at: told after each of these forwards.

        Raises:
            TraceError: nothing was recorded.
        """
        from core.foreign.reference import with_reference

        if not self._calls:
            raise TraceError(
                "no call was recorded; call the model inside the with block, and give the recorder "
                "the model whose forward is called (of a wrapper, the one inside)"
            )
        calls = self._calls
        trace = ForeignTrace(
            engine=_engine(self._model),
            dtype=_dtype(self._model),
            token_ids=as_ids([token for call in calls for token in call.token_ids]),
            n_tokens=as_ids([len(call.token_ids) for call in calls]),
            logits=np.stack(self._logits),
            position_ids=as_ids([position for call in calls for position in call.position_ids]),
            cache_length=as_ids(self._lengths),
        )
        return with_reference(trace, self._model, calls[0].device, at)

    def save(self, path: str | Path) -> ForeignTrace:
        """Write all calls to a file, which appears whole or not at all; see `trace`."""
        trace = self.trace()
        write_foreign(Path(path), trace)
        return trace

    def begin(
        self, model: "torch.nn.Module", given: tuple[object, ...], named: Mapping[str, object]
    ) -> None:
        """A call begins: see whether it can be recorded."""
        from core.foreign.calls import given_of, length_of

        call = given_of(model, given, named)
        number = self.n_calls
        if not number:
            n_held = length_of(call.cache)
            if n_held > 0:
                raise TraceError(
                    f"the cache holds {n_held} rows before the first call, of tokens that nobody "
                    "saw; begin to record with an empty one"
                )
            return
        if call.cache is None or call.cache is not self._cache:
            how = "without a cache" if call.cache is None else "with another cache than the last"
            raise TraceError(
                f"call {number} comes {how}, and so begins another text; a trace holds one: pass "
                f"on the cache of call {number - 1}, or record each text by itself"
            )
        length = length_of(call.cache)
        if length != self._lengths[-1]:
            raise TraceError(
                f"the cache was changed between two calls: its length was {self._lengths[-1]} "
                f"after call {number - 1} and is {length}; a trace from elsewhere has no rollback"
            )

    def end(
        self,
        model: "torch.nn.Module",
        given: tuple[object, ...],
        named: Mapping[str, object],
        answer: object,
    ) -> None:
        """A call is over: keep what it read and gave."""
        from core.foreign.calls import cache_of, given_of, length_of, logits_of
        from core.foreign.reference import as_numpy

        logits = as_numpy(logits_of(answer)[-1])
        call = given_of(model, given, named)
        back = cache_of(answer)
        self._cache = call.cache if back is None else back
        self._calls.append(call)
        self._logits.append(logits)
        self._lengths.append(length_of(self._cache))


def _engine(model: "torch.nn.Module") -> str:
    kind = type(model)
    library = kind.__module__.partition(".")[0]
    try:
        return f"{library} {metadata.version(library)}, {kind.__name__}"
    except metadata.PackageNotFoundError:
        return kind.__name__


def _dtype(model: "torch.nn.Module") -> str:
    """Number type of the weights: that of the first that are floats."""
    found = (weight.dtype for weight in model.parameters() if weight.is_floating_point())
    return str(next(found, "float32")).removeprefix("torch.")
