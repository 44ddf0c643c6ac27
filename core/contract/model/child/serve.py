"""Answers the checker: what is known of a model, and what it does when it is called."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ...child.constructor import NotDrivableError
from ...child.raised import words
from .errors import Right
from .facts import Known
from .places import kept_places
from .probes import hangs_on_split, ignores_order, one_token_repeated, sights, told_positions
from .sizes import KEY_HEADS, QUERY_HEADS, number_of
from .subject import Call, Subject


class Server:
    """One model, and what is known of it."""

    def __init__(self, at: Callable[[str], None]) -> None:
        """`at` is told, in words, what of the model is about to be called."""
        torch.set_num_threads(1)
        self._at = at
        self._subject: Subject | None = None
        self._right: dict[tuple[tuple[int, ...], ...], Right] = {}

    def answers(self, ask: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """What is to be told: zero or more calls; the last line has "done" or "cannot"."""
        try:
            yield from getattr(self, f"_{ask['do']}")(ask)
        except NotDrivableError as error:
            yield {"cannot": str(error)}
        except Exception as error:  # noqa: BLE001  (whatever the user's model raises)
            yield {"cannot": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}

    def _load(self, ask: dict[str, Any]) -> Iterator[dict[str, Any]]:
        self._subject = Subject(
            ask["path"], ask["name"], ask["adapter"], self._at, widened=ask["widened"]
        )
        self._right = {}
        subject = self._subject
        parameter = next(iter(subject.model.parameters()), None)
        dtype = torch.float32 if parameter is None else parameter.dtype
        yield {
            "done": {
                "model": type(subject.model).__name__,
                "surface": subject.adapter.words(),
                "vocabulary": subject.vocabulary(),
                "context": subject.context,
                "dtype": str(dtype).removeprefix("torch."),
                "key_heads": _key_heads(subject.model),
            }
        }

    def _uncached(self, ask: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The uncached forward of texts; with "numbers", its logits too."""
        right = self._of(ask["ids"])
        told: dict[str, Any] = {"largest": right.largest, "spread": right.spread}
        told |= {"unrest": right.unrest, "sway": right.sway}
        told |= {"has_numbers": right.has_numbers, "nan_ids": right.nan_ids}
        if ask["numbers"]:
            told["shape"] = list(right.logits.shape)
            told["logits"] = base64.b64encode(right.logits.numpy().tobytes()).decode()
        yield {"done": told}

    def _reach(self, ask: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The longest beginning of a text that one forward reads, and why it reads no more."""
        ids = torch.tensor(ask["ids"])
        fits, fails, why = 0, ids.shape[-1] + 1, ""
        n = ids.shape[-1]
        while fits + 1 < fails:
            try:
                self._ready.uncached(ids[:, :n])
                fits = n
            except (Exception, SystemExit) as error:  # noqa: BLE001  (whatever it raises)
                fails, why = n, words(error)
            n = (fits + fails) // 2
        yield {"done": {"n": fits, "why": why}}

    def _decode(self, ask: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Each call with its error; with "watch", what was seen of it; with "numbers", its logits
        after its last token.
        """  # noqa: D205  (one sentence)
        ids = torch.tensor(ask["ids"])
        right = self._of(ask["ids"])
        known = _known(self._ready, ids) if ask["watch"] else None
        before = None if ask["before"] is None else torch.tensor(ask["before"])
        for call in self._ready.decode(ids, ask["chunks"], watch=ask["watch"], before=before):
            told: dict[str, Any] = {"past": call.past, "n": call.n, "raised": call.raised}
            told["refused"] = call.is_refused
            if call.raised is None:
                told.update(right.error(call))
            if known is not None:
                told["seen"] = _seen(known, call)
            if ask.get("numbers") and call.raised is None:
                told["logits"] = base64.b64encode(call.logits[0, -1].numpy().tobytes()).decode()
            yield told
        yield {"done": {}}

    def _probe(self, ask: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Black-box probes of one call."""
        ids = torch.tensor(ask["ids"])
        chunks, call, band = ask["chunks"], ask["call"], ask["band"]
        subject, right = self._ready, self._of(ask["ids"]).logits
        yield {
            "done": {
                "queries": sights(subject, ids, chunks, call, ask["spare"], band),
                "swapped": ignores_order(subject, ids, chunks, call, band),
                "told": told_positions(subject, ids, chunks, right, band),
                "repeated": one_token_repeated(subject, ids, band),
                "split": hangs_on_split(subject, ids, band),
            }
        }

    def _kept(self, ask: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Of each call, what the rows tell that the model keeps; empty: nothing."""
        yield {"done": {"calls": _places(self._ready, torch.tensor(ask["ids"]), ask["chunks"])}}

    @property
    def _ready(self) -> Subject:
        assert self._subject is not None  # noqa: S101  (loading comes first)
        return self._subject

    def _of(self, ids: list[list[int]]) -> Right:
        name = tuple(tuple(row) for row in ids)
        if name not in self._right:
            self._right[name] = Right(self._ready, torch.tensor(ids))
        return self._right[name]


def _known(subject: Subject, ids: Any) -> Known | None:
    """None: the forward cannot be observed, and is left to the probes."""
    try:
        return Known(subject, ids)
    except Exception:  # noqa: BLE001  (code of every kind is looked at; its logits are judged anyhow)
        return None


def _places(subject: Subject, ids: Any, chunks: list[int]) -> list[dict[str, Any]]:
    try:
        return kept_places(subject, ids, chunks)
    except Exception:  # noqa: BLE001  (state of every kind is looked at; what cannot be told is not)
        return []


def _seen(known: Known, call: Call) -> dict[str, Any]:
    try:
        return known.told(call)
    except Exception:  # noqa: BLE001  (what cannot be told was not seen)
        return {"tables": {}, "attentions": []}


def _key_heads(model: Any) -> int | None:
    return number_of(model, KEY_HEADS) or number_of(model, QUERY_HEADS)
