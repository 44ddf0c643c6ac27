"""The user's model: made, called on texts, each time from the state in which it was made."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ...child.constructor import NotDrivableError
from ...child.files import adapter_of, loaded
from ...child.raised import is_mistake, line_of, words
from .adapter import ModelAdapter
from .kept import kept_arrays
from .sizes import context_of, vocabulary_of
from .surfaces import Recognised, split
from .watch import Seen, Watch


@dataclass
class Call:
    """What came of one call.

    Attributes:
        past, n: tokens before it, and of it.
        logits: [B, R, V] float64, of all n tokens or of the last one; None: it raised.
        raised: [kind, message].
        is_refused: somebody wrote that it raises; Python itself did not, over a mistake.
        seen: what was observed; None: nobody looked.
        kept: the arrays in which the past is kept once it is over; None: nobody wanted them.
    """

    past: int
    n: int
    logits: Any = None
    raised: list[str] | None = None
    is_refused: bool = False
    seen: Seen | None = None
    kept: dict[str, Any] | None = None


class Subject:
    """A model and how it is called."""

    def __init__(
        self,
        path: str,
        name: str,
        adapter: str | None,
        at: Callable[[str], None],
        *,
        widened: bool,
    ) -> None:
        """Make the model, and find out how it is called.

        `at` is told before anything of theirs is called.

        Raises:
            NotDrivableError: one of the two cannot be done.
        """
        self._at = at
        self.model = made(path, name, at)
        if widened:
            self.model.float()
        self.adapter: ModelAdapter = (
            Recognised(self.model) if adapter is None else adapter_of(adapter, ModelAdapter)
        )
        self.device = next((p.device for p in self.model.parameters()), torch.device("cpu"))
        self.context = context_of(self.model)
        if isinstance(self.adapter, Recognised):
            at("a first call of it, of two tokens")
            self._settle(self.adapter)

    def vocabulary(self) -> int | None:
        """Token ids that it knows; None: it does not say."""
        return vocabulary_of(self.model)

    def uncached(self, ids: Any, watch: bool = False) -> tuple[Any, Seen]:  # noqa: FBT001, FBT002
        """Logits [B, R, V] of texts [B, T] without a cache, and what was seen."""
        model = self.twin()
        self._at(f"a forward of {ids.shape[-1]} tokens without a cache")
        with torch.no_grad():
            if not watch:
                return self._numbers(self.adapter.uncached(model, ids.to(self.device))), Seen()
            with Watch(model) as seeing:
                logits = self.adapter.uncached(model, ids.to(self.device))
        return self._numbers(logits), seeing.seen

    def decode(
        self,
        ids: Any,
        chunks: Sequence[int],
        *,
        watch: bool = False,
        keep: bool = False,
        before: Any = None,
    ) -> Iterator[Call]:
        """Read texts [B, T] in chunks with a cache; ends after a call that raised.

        With `keep`, each call has a copy of what is kept of the past. Where `before` is given, the
        same model reads that text first, as another request.
        """
        model = self.twin()
        if before is not None:
            list(self._decoded(model, before, (before.shape[-1] - 1, 1)))
        yield from self._decoded(model, ids, chunks, watch=watch, keep=keep)

    def _decoded(
        self,
        model: Any,
        ids: Any,
        chunks: Sequence[int],
        *,
        watch: bool = False,
        keep: bool = False,
    ) -> Iterator[Call]:
        past, state = 0, None
        for at, n in enumerate(chunks):
            call = Call(past, n)
            self._at(f"a cached call with {n} token{'s' * (n != 1)} after {past}")
            new = ids[:, past : past + n].to(self.device)
            try:
                with torch.no_grad():
                    if at == 0:
                        state = self.adapter.start(model, len(ids))
                    if watch:
                        with Watch(model) as seeing:
                            logits, state = self.adapter.cached(model, new, state, past)
                        call.seen = seeing.seen
                    else:
                        logits, state = self.adapter.cached(model, new, state, past)
                call.logits = self._numbers(logits)
                call.kept = kept_arrays(state, model) if keep else None
            except (Exception, SystemExit) as error:  # noqa: BLE001  (what it raises is its answer)
                where = line_of(error)
                call.is_refused = not is_mistake(error)
                said = " ".join(str(error).split())[:300]
                call.raised = [type(error).__name__, f"{said} ({where})" if where else said]
                yield call
                return
            yield call
            past += n

    def _numbers(self, logits: Any) -> Any:
        if not isinstance(logits, torch.Tensor):
            logits = split(logits)[0]
        logits = logits[:, None] if logits.ndim == 2 else logits
        return logits.detach().to("cpu", torch.float64)

    def twin(self) -> Any:
        """The model as it was made: its own state, and the same weights."""
        shared = {id(p): p for p in self.model.parameters()}
        try:
            return copy.deepcopy(self.model, shared)
        except Exception:  # noqa: BLE001  (some objects cannot be copied; then there is only one)
            return self.model

    def _settle(self, adapter: Recognised) -> None:
        """Try a first call; a place in the text may be wanted as a number or as a tensor."""
        why = ""
        for is_number in (adapter.place_is_number, not adapter.place_is_number):
            adapter.place_is_number = is_number
            try:
                with torch.no_grad():
                    adapter.settle(self.twin())
                    list(self.decode(torch.zeros(1, 2, dtype=torch.long), (2,)))
                    self.uncached(torch.zeros(1, 2, dtype=torch.long))
            except NotDrivableError:
                raise
            except (Exception, SystemExit) as error:  # noqa: BLE001  (then the other way is tried)
                why = words(error)
                if adapter.place is None:
                    raise NotDrivableError(f"{adapter.words()} {why}") from None
            else:
                return
        raise NotDrivableError(f"{adapter.words()} {why}")


def made(path: str, name: str, at: Callable[[str], None]) -> Any:
    """The module of torch that a file makes, ready to be asked.

    Raises:
        NotDrivableError: there is none.
    """
    at(f"running {path}")
    maker = loaded(path, name)
    at(f"calling {name}()")
    try:
        model = maker if isinstance(maker, torch.nn.Module) else maker()
    except (Exception, SystemExit) as error:  # noqa: BLE001  (whatever the user's code raises)
        raise NotDrivableError(f"{name}() {words(error)}") from None
    if not isinstance(model, torch.nn.Module):
        raise NotDrivableError(f"{name}() gave {type(model).__name__}; a torch module is needed")
    return model.eval()
