"""What the process of a model tells of its calls."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from core.arrays import FloatArray

Whose = Sequence[int] | Literal["zero"]
"""Of one row: the tokens whose row it is, by its numbers; "zero": it is all zeros."""


@dataclass(frozen=True, slots=True)
class About:
    """A model that was loaded.

    Attributes:
        model: name of its class.
        surface: how it is called.
        vocabulary: token ids that it knows; None: it does not say.
        context: the longest text it can read; None: it does not say.
        dtype: of its weights.
        key_heads: heads of keys; None: it does not say.
    """

    model: str
    surface: str
    vocabulary: int | None
    context: int | None
    dtype: str
    key_heads: int | None


@dataclass(frozen=True, slots=True)
class Attention:
    """One softmax over keys. T new tokens, S columns.

    Attributes:
        layer: which.
        n_columns: S.
        visible: [T] the columns that each query sees.
        expected: [T] the tokens that it sees without a cache.
        weights: [T, S], mean of the heads.
        is_flagged: fused attention was told is_causal=True.
        keys, values: [S] whose they are; None: not to be told.
        key_heads, value_heads: [H, S] the same for each head alone; None: not to be told.
        other_layers: [S] the layer whose value a column is, where it is not this one's.
        is_narrowed: every row read is close to the right one, and not equal to it.
        output_off, queries_off, new_keys_off: whether they differ from the uncached ones; None: not
            to be told.
        queries_turned: whether queries differ in direction and not in length.
        query_positions: [T] the positions at which the query would be this one. Layer 0 only.
        key_places: [S] (token, position) pairs whose key it is. Layer 0 only.
    """

    layer: int
    n_columns: int
    visible: Sequence[Sequence[int]]
    expected: Sequence[Sequence[int]]
    weights: Sequence[Sequence[float]]
    is_flagged: bool
    keys: Sequence[Whose] | None
    values: Sequence[Whose] | None
    key_heads: Sequence[Sequence[Whose]] | None
    value_heads: Sequence[Sequence[Whose]] | None
    other_layers: Sequence[int | None]
    is_narrowed: bool
    output_off: bool | None
    queries_off: bool | None
    new_keys_off: bool | None
    queries_turned: bool
    query_positions: Sequence[Sequence[int]] = ()
    key_places: Sequence[Sequence[tuple[int, int]] | Literal["zero"]] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """What the rows tell that a model keeps of its past, without a look inside its code.

    Attributes:
        positions: for each new token, the place in a first call at which its row would be this one;
            None: not to be told.
        tokens: the token of each row, in the order in which they lie; None: not to be told.
    """

    positions: tuple[int, ...] | None
    tokens: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Call:
    """One call with a cache.

    Attributes:
        past, n: tokens before it, and of it.
        error: largest error of its logits; None: not a finite number, or it gave none.
        token: the token whose logits are furthest off.
        raised: [kind, message]; None: it did not.
        is_refused: whether somebody wrote that it raises: no mistake of Python's own telling.
        tables: name -> positions of each look-up. Only of tables that positions are looked up in.
        attentions: what was seen; empty: nothing.
        kept: what the rows that it left tell; None: nobody looked.
        logits: [V] after its last token, of the first text; None: nobody asked, or it raised.
    """

    past: int
    n: int
    error: float | None = None
    token: int | None = None
    raised: Sequence[str] | None = None
    is_refused: bool = False
    tables: Mapping[str, Sequence[Sequence[int]]] = field(
        default_factory=dict[str, Sequence[Sequence[int]]]
    )
    attentions: Sequence[Attention] = ()
    kept: Kept | None = None
    logits: FloatArray | None = field(default=None, compare=False)

    @property
    def end(self) -> int:
        """Tokens read once it is over."""
        return self.past + self.n


def about_of(told: Mapping[str, Any]) -> About:
    """From JSON."""
    return About(**told)


def kept_of(told: Mapping[str, Any]) -> Kept:
    """From JSON; positions of which one is nobody's tell nothing."""
    positions: list[int | None] = told["positions"] or [None]
    tokens = told["tokens"]
    known = tuple(place for place in positions if place is not None)
    return Kept(
        known if len(known) == len(positions) else None, None if tokens is None else tuple(tokens)
    )


def call_of(told: Mapping[str, Any]) -> Call:
    """From JSON."""
    seen = told.get("seen", {"tables": {}, "attentions": []})
    logits = told.get("logits")
    return Call(
        past=told["past"],
        n=told["n"],
        error=told.get("error"),
        token=told.get("token"),
        raised=told["raised"],
        is_refused=told["refused"],
        tables=seen["tables"],
        attentions=tuple(_attention(one) for one in seen["attentions"]),
        logits=None if logits is None else np.frombuffer(base64.b64decode(logits), np.float64),
    )


def _attention(told: Mapping[str, Any]) -> Attention:
    places: list[Sequence[tuple[int, int]] | Literal["zero"]] = [
        "zero" if place == "zero" else [(t, m) for t, m in place]
        for place in told.get("key_places", ())
    ]
    return Attention(
        layer=told["layer"],
        n_columns=told["columns"],
        visible=told["visible"],
        expected=told["expected"],
        weights=told["weights"],
        is_flagged=told["flag"],
        keys=told["keys"],
        values=told["values"],
        key_heads=told["key_heads"],
        value_heads=told["value_heads"],
        other_layers=told["other_layer"],
        is_narrowed=told["narrowed"],
        output_off=told["output_off"],
        queries_off=told["queries_off"],
        new_keys_off=told["new_keys_off"],
        queries_turned=told["queries_turned"],
        query_positions=told.get("query_positions", ()),
        key_places=places,
    )
