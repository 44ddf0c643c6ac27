"""The model test: small models decode with the keys and values that a class gives back.

At every step each layer hands its new rows to the class, and attends over exactly what comes back;
the logits must be those of a pass without any cache. The last row that comes back is taken for the
newest token's, the one before it for the token before, and so on; where whole buffers come back,
the first rows count, as many as there were tokens.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.arrays import FloatArray, IntArray
from core.contract.calls import Answer, Append, Ask, Call, Rows, Sizes, Told
from core.contract.decode_model import SmallModel
from core.contract.plan import Plan
from core.contract.subject import GaveUpError, Subject
from core.reference import Passage

MODELS = ("tiny-learned", "tiny-rope", "tiny-alibi")
PROMPTS = ((1,), (2,), (1, 1), (5,))
N_DECODED = 3
BAND = 1e-3
"""Of a logit; rows that are missing or wrong move one by far more, float32 by far less."""


@dataclass(frozen=True, slots=True)
class DecodeFinding:
    """A run whose logits differ from those without a cache.

    Attributes:
        model: its name.
        blocks: tokens of each step.
        capacity: of the cache.
        step: the first step that is wrong.
        layer: the first layer in which other rows came back than belong there; None: none did.
        found: what was seen, in words.
    """

    model: str
    blocks: tuple[int, ...]
    capacity: int
    step: int
    layer: int | None
    found: str


@dataclass(frozen=True, slots=True)
class _Run:
    """A model, its steps, and the cache's size."""

    model: str
    blocks: tuple[int, ...]
    capacity: int


def model_test(subject: Subject, plan: Plan) -> DecodeFinding | None:
    """The first run that goes wrong; None: all are right, or the class cannot hold such rows.

    Rows that come back narrower than float32 are not judged.
    """
    for name in MODELS:
        model = SmallModel.load(name)
        sizes = _sizes(plan, model)
        if sizes is None:
            continue
        for run in _runs(plan, name):
            try:
                found = _decoded(subject, plan, model, replace(sizes, capacity=run.capacity), run)
            except (GaveUpError, _NarrowError):
                return None
            if found is not None:
                return found
    return None


def _sizes(plan: Plan, model: SmallModel) -> Sizes | None:
    """Sizes for a model's rows; None where arguments that were given say otherwise."""
    config = model.config
    others = {"d_k": config.d_head, "d_v": config.d_head}
    if plan.has_heads:
        others["n_heads"] = config.n_kv_heads
    if plan.surface.takes_layer:
        others["n_layers"] = config.n_layers
    sizes = plan.sizes(1, **others)
    fits = all(getattr(sizes, name) == number for name, number in others.items())
    return sizes if fits and sizes.batch == 1 else None


def _runs(plan: Plan, model: str) -> Iterator[_Run]:
    """Prompts at once and one by one; with eviction where the class lets rows go, and without."""
    for prompt in PROMPTS:
        blocks = (*prompt, *(1,) * N_DECODED, 2)
        yield _Run(model, blocks, sum(blocks))
        if plan.policy == "window":
            yield _Run(model, blocks, 3)


def _decoded(
    subject: Subject, plan: Plan, model: SmallModel, sizes: Sizes, run: _Run
) -> DecodeFinding | None:
    """Decode, and compare each step."""
    token_ids = np.random.default_rng(0).integers(0, model.config.vocab_size, sum(run.blocks))
    window = run.capacity if plan.policy == "window" else None
    wanted = model.reference.forward(_passage(token_ids, window))
    cache = _Caches(subject, plan, sizes)
    start = 0
    for step, n in enumerate(run.blocks):
        cache.begin(start + n)
        ids = token_ids[start : start + n]
        try:
            logits = model.step(ids, start, cache.rows_of_layer, window)  # pyright: ignore[reportArgumentType]  (numbers of a user's class)
        except _NoRowsError as error:
            return DecodeFinding(*_of(run), step, error.layer, error.words)
        gap = float(np.abs(logits - wanted.logits[start : start + n]).max())
        start += n
        if not gap <= BAND:
            layer = cache.first_wrong(wanted.stored_keys, wanted.values, start)
            words = f"a logit is off by {gap:.3g} in step {step}, of {n} token{'s' * (n != 1)}"
            return DecodeFinding(*_of(run), step, layer, words)
    return None


def _of(run: _Run) -> tuple[str, tuple[int, ...], int]:
    return run.model, run.blocks, run.capacity


def _passage(token_ids: IntArray, window: int | None) -> Passage:
    places = np.arange(len(token_ids))
    distance = places[:, None] - places
    readable = (distance >= 0) & (distance < (len(places) if window is None else window))
    return Passage(token_ids, places, None, readable)


class _NoRowsError(Exception):
    """The class raised, or gave back what attention cannot read."""

    def __init__(self, layer: int, words: str) -> None:
        super().__init__(words)
        self.layer, self.words = layer, words


class _NarrowError(Exception):
    """Rows come back in a type whose rounding alone would move a logit by more than the band."""


class _Caches:
    """As many caches of the class as it takes to hold all layers and heads.

    A class that has no axis of heads, or no layers, gets a cache for each. The whole sequence is
    repeated for every new row: what a class answers may depend on nothing but its calls.
    """

    def __init__(self, subject: Subject, plan: Plan, sizes: Sizes) -> None:
        self._subject, self._plan, self._sizes = subject, plan, sizes
        self._calls: dict[tuple[int, int], list[Call]] = {}
        self._n_tokens = 0
        self._returned: dict[int, tuple[FloatArray, FloatArray]] = {}

    def begin(self, n_tokens: int) -> None:
        """A step after which there are so many tokens."""
        self._n_tokens = n_tokens
        self._returned = {}

    def rows_of_layer(
        self, layer: int, k: FloatArray, v: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """[Hkv, n, D] new rows, to the rows [Hkv, m, D] that attention reads."""
        if self._plan.has_heads:
            pair = self._asked(layer, 0, k, v)
        else:
            heads = [self._asked(layer, h, k[h : h + 1], v[h : h + 1]) for h in range(len(k))]
            pair = (
                np.concatenate([keys for keys, _ in heads]),
                np.concatenate([values for _, values in heads]),
            )
        self._returned[layer] = pair
        return pair

    def first_wrong(
        self, keys: Sequence[FloatArray], values: Sequence[FloatArray], n_tokens: int
    ) -> int | None:
        """The first layer whose rows are not the last ones of what a pass without a cache has."""
        for layer, (k, v) in sorted(self._returned.items()):
            n = min(k.shape[1], n_tokens)
            for found, right in ((k, keys[layer]), (v, values[layer])):
                if found.shape[1] > n_tokens or not np.allclose(
                    found[:, -n:], right[:, n_tokens - n : n_tokens], atol=BAND
                ):
                    return layer
        return None

    def _asked(
        self, layer: int, head: int, k: FloatArray, v: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        takes_layer = self._plan.surface.takes_layer
        calls = self._calls.setdefault((0 if takes_layer else layer, head), [])
        calls.append(_append(layer if takes_layer else 0, k, v, self._sizes.dtype))
        read = [Ask("read", layer=layer if takes_layer else 0)]
        answers = self._subject.run(self._sizes, [*calls, *read])
        pair = _pair(answers, len(calls), layer)
        if not {told.dtype for told in pair} <= {"float32", "float64"}:
            raise _NarrowError
        found = [_canonical(told.array, self._plan.surface.layout) for told in pair]
        if self._plan.is_whole:
            n = min(self._n_tokens, found[0].shape[1])
            found = [array[:, :n] for array in found]
        heads, n_new, size = k.shape
        for array in found:
            if array.shape != (heads, max(n_new, found[0].shape[1]), size):
                shapes = " and ".join(str(list(told.array.shape)) for told in pair)
                words = f"{shapes} came back as keys and values after {n_new} were added"
                raise _NoRowsError(layer, words)
        return found[0], found[1]


def _append(layer: int, k: FloatArray, v: FloatArray, dtype: str) -> Append:
    def rows(array: FloatArray) -> Rows:
        n_heads, n, d = array.shape
        return Rows(tuple(range(n)), n_heads, d, dtype=dtype, numbers=array[None])

    return Append(layer, rows(k), rows(v))


def _pair(answers: Sequence[Answer], n_calls: int, layer: int) -> tuple[Told, Told]:
    """What the last append gave back, or else what was read after it."""
    last = answers[n_calls] if len(answers) > n_calls else answers[-1]
    if last.error is not None:
        raise _NoRowsError(layer, ": ".join(last.error))
    read = answers[-1]
    pair = last.pair or read.pair
    if pair is None:
        raise _NoRowsError(layer, ": ".join(read.error) if read.error else "nothing came back")
    return pair


def _canonical(array: FloatArray, layout: str) -> FloatArray:
    """[h, n, d] of the first sequence."""
    axes = [axis for axis in "bhnd" if axis in layout]
    array = array.transpose([layout.index(axis) for axis in axes])
    if "b" in layout:
        array = array[0]
    return array if "h" in layout else array[None]
