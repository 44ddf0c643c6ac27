"""The model test: small models decode with the keys and values that a class gives back.

At every step each layer hands its new rows to the class, and attends over exactly what comes back;
the logits must be those of a pass without any cache. The last row that comes back is taken for the
newest token's, the one before it for the token before, and so on; where whole buffers come back,
the first rows count, as many as there were tokens. Sinks come before the newest rows.

Where a class takes them, rows go in as 16-bit numbers too, and two texts of different lengths in
one batch, the shorter one with padding before it. An error is right up to the band of the number
type; above it, and above four times what rounding the right rows to that type does to the logits,
it is wrong. More than 300 lines: what is driven, and how each of its runs is judged, is one loop.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from core.arrays import FloatArray, IntArray
from core.contract.calls import Append, Sizes
from core.contract.check import Verdict
from core.contract.decode_fit import NoModelError, fitting_model
from core.contract.decode_model import Sight, SmallModel, in_step
from core.contract.decode_rows import Caches, NoRowsError, NotTakenError, StrangeTypeError
from core.contract.ideal import fits
from core.contract.numbers import NARROW, rounded
from core.contract.plan import Plan
from core.contract.subject import GaveUpError, Subject
from core.reference import Passage, ReferenceRun
from core.tolerance import NOISE_FACTOR, logits_band

MODELS = ("tiny-learned", "tiny-rope", "tiny-alibi")
PROMPTS = ((1,), (2,), (1, 1), (5,))
N_DECODED = 3
WINDOW = 3
WINDOW_WITH_SINKS, N_SINKS = 5, 2
MOST_OWN_WINDOW = 16
"""Of a class that has a window of its own; a larger one is not filled."""
PADS = (0, 2)
"""Of two texts in one batch."""


@dataclass(frozen=True, slots=True)
class DecodeFinding:
    """A run whose logits differ from those without a cache.

    Attributes:
        model: its name.
        blocks: tokens of each step.
        capacity: of the cache.
        sinks: of the cache; None: it takes none.
        step: the first step that is wrong.
        layer: the first layer in which other rows came back than belong there; None: none did.
        found: what was seen, in words.
        preset_like: id of a fault that gives such rows; None: none is known.
        what: rows other than one text in float32, in words; "": they are that.
    """

    model: str
    blocks: tuple[int, ...]
    capacity: int
    sinks: int | None
    step: int
    layer: int | None
    found: str
    preset_like: str | None = None
    what: str = ""


@dataclass(frozen=True, slots=True)
class ModelTest:
    """What came of it.

    Attributes:
        models: those that decoded, in this order.
        finding: the first run that goes wrong; None: none did.
        not_covered: what no run looked at, in words.
        also: what else was fed than one text in float32, in words.
    """

    models: tuple[str, ...]
    finding: DecodeFinding | None
    not_covered: tuple[str, ...]
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Run:
    """A model, its steps, and the cache's size.

    Attributes:
        model: its name.
        blocks: tokens of each step.
        capacity, sinks: of the cache; sinks are None where the class takes none.
        is_window: whether it lets rows go.
        dtype: of the rows that go in.
        pads: places before each text of the batch.
    """

    model: str
    blocks: tuple[int, ...]
    capacity: int
    sinks: int | None
    is_window: bool
    dtype: str = "float32"
    pads: tuple[int, ...] = (0,)

    @property
    def sight(self) -> Sight:
        return Sight(self.capacity if self.is_window else None, self.sinks or 0)

    @property
    def what(self) -> str:
        """What else is fed than one text in float32."""
        if len(self.pads) > 1:
            lengths = " and ".join(str(sum(self.blocks) - n) for n in self.pads)
            return f"two texts of {lengths} tokens in one batch"
        return "" if self.dtype == "float32" else f"rows of {self.dtype}"


def is_worth_asking(verdicts: Sequence[Verdict]) -> bool:
    """Whether all that is broken is about arguments that no model gives: rules 7 and 8.

    Rule 11 is about these too where the append that was refused does not fit for what it is.
    """
    return all(
        verdict.rule in (7, 8) or (verdict.rule == 11 and _refuses_a_misfit(verdict))
        for verdict in verdicts
        if verdict.state in ("fail", "follows")
    )


def _refuses_a_misfit(verdict: Verdict) -> bool:
    case = verdict.case
    return case is not None and any(
        isinstance(call, Append) and not fits(call, case.sizes) for call in case.calls
    )


def model_test(subject: Subject, plan: Plan) -> ModelTest:
    """Decode, up to the first run that goes wrong."""
    not_covered: dict[str, None] = {}
    if _is_own_too_large(plan):
        not_covered[f"a window that is full: it has {plan.own_capacity} rows of its own"] = None
    if _feeds_singles(plan):
        not_covered[
            "blocks of tokens in a window that is full: adding rows gives nothing back to attend "
            "to, so single tokens were fed"
        ] = None
    done: list[str] = []
    also: dict[str, None] = {}
    for name in MODELS:
        try:
            model, sizes = fitting_model(subject, plan, name)
            done.append(model.config.name)
            found = _first_wrong(subject, plan, model, sizes, also, not_covered)
        except NoModelError as error:
            not_covered[str(error)] = None
            continue
        except (GaveUpError, StrangeTypeError) as error:
            return ModelTest((), None, (*not_covered, str(error)))
        if found is not None:
            return ModelTest(tuple(done), found, tuple(not_covered), tuple(also))
    return ModelTest(tuple(done), None, tuple(not_covered), tuple(also))


def _first_wrong(
    subject: Subject,
    plan: Plan,
    model: SmallModel,
    sizes: Sizes,
    also: dict[str, None],
    not_covered: dict[str, None],
) -> DecodeFinding | None:
    """Of one model; what else was fed, or refused, is noted in the two."""
    name = model.config.name
    for run in (*_runs(plan, name), *_odd_runs(plan, name)):
        try:
            found = _decoded(subject, plan, model, sizes, run)
        except NotTakenError as error:
            if not run.what:
                return _finding(run, 0, 0, str(error))
            not_covered[f"{run.what}: {error}"] = None
            continue
        if found is not None:
            return found
        if run.what:
            also[run.what] = None
    return None


def _runs(plan: Plan, model: str) -> Iterator[_Run]:
    """Prompts at once and one by one; with eviction where the class lets rows go, and without."""
    is_window = plan.policy == "window"
    takes_sinks = "sinks" in plan.surface.roles
    none = 0 if takes_sinks else None
    for prompt in PROMPTS:
        blocks = (*prompt, *(1,) * N_DECODED, 2)
        fitting = _fitting(plan, blocks)
        yield _Run(model, fitting, plan.own_capacity or sum(blocks), none, is_window)
        if is_window and not _is_own_too_large(plan):
            yield _full_window(plan, model, blocks, none)
        fed = (1,) * sum(blocks) if _feeds_singles(plan) else blocks
        if is_window and takes_sinks:
            yield _Run(model, fed, WINDOW_WITH_SINKS, N_SINKS, is_window)


def _odd_runs(plan: Plan, model: str) -> Iterator[_Run]:
    """Rows of 16 bits, and two texts in one batch, where the class may take them."""
    takes_sinks = "sinks" in plan.surface.roles
    none = 0 if takes_sinks else None
    is_window = plan.policy == "window"
    fed = (5, *(1,) * N_DECODED, 2)
    runs = [_Run(model, _fitting(plan, fed), plan.own_capacity or sum(fed), none, is_window)]
    if is_window and not _is_own_too_large(plan):
        runs.append(_full_window(plan, model, fed, none))
    if "dtype" not in plan.surface.fixed:
        narrow = NARROW if plan.surface.library == "torch" else NARROW[:1]
        yield from (replace(run, dtype=dtype) for dtype in narrow for run in runs)
    if plan.takes_batches and "batch" not in plan.surface.fixed:
        yield from (replace(run, pads=PADS) for run in runs)


def _fitting(plan: Plan, blocks: tuple[int, ...]) -> tuple[int, ...]:
    """The first of these blocks, as far as a capacity of its own has room for them; or one row."""
    room = plan.own_capacity
    if room is None:
        return blocks
    n = sum(end <= room for end in accumulate(blocks))
    return blocks[:n] or (1,)


def _full_window(plan: Plan, model: str, blocks: tuple[int, ...], sinks: int | None) -> _Run:
    """Tokens that leave a window: it is small, or the class's own, and then the text is longer."""
    own = plan.own_capacity
    more = blocks if own is None else (*blocks, *(1,) * own)
    fed = (1,) * sum(more) if _feeds_singles(plan) else more
    return _Run(model, fed, own or WINDOW, sinks, is_window=True)


def _is_own_too_large(plan: Plan) -> bool:
    """Whether to fill a window takes too long: each row is added anew for each that follows."""
    return plan.policy == "window" and (plan.own_capacity or 0) > MOST_OWN_WINDOW


def _feeds_singles(plan: Plan) -> bool:
    """Whether the rows that leave with a block cannot be seen by it."""
    return plan.policy == "window" and not plan.gives_back


def _decoded(
    subject: Subject, plan: Plan, model: SmallModel, sizes: Sizes, run: _Run
) -> DecodeFinding | None:
    """Decode, and compare each step.

    Raises:
        NotTakenError: the class refuses the first rows.
        StrangeTypeError: of what comes back nothing can be said.
    """
    texts = _texts(model, run)
    right = [model.reference.forward(_passage(text, run.sight)) for text in texts]
    dtype = run.dtype if "dtype" in plan.surface.roles and run.dtype in NARROW else sizes.dtype
    sizes = replace(sizes, capacity=run.capacity, sinks=run.sinks, batch=len(texts), dtype=dtype)
    cache = Caches(subject, plan, sizes, run.dtype)
    start = 0
    for step, n in enumerate(run.blocks):
        cache.begin(start + n)
        columns = np.arange(start, start + n)
        passes = [
            model.step(_padded(text, pads)[columns], columns, pads, run.sight)
            for text, pads in zip(texts, run.pads, strict=True)
        ]
        try:
            logits = in_step(passes, cache.rows_of_layer)  # pyright: ignore[reportArgumentType]  (numbers of a user's class)
        except NoRowsError as error:
            return _finding(run, step, error.layer, error.words)
        start += n
        for b, (mine, forward) in enumerate(zip(logits, right, strict=True)):
            found = _compared(cache, model, run, step, start, b, mine, forward)
            if found is not None:
                return found
    return None


def _texts(model: SmallModel, run: _Run) -> list[IntArray]:
    """Token ids of each text, those of the padding left out."""
    rng = np.random.default_rng(0)
    n = sum(run.blocks)
    return [rng.integers(0, model.config.vocab_size, n - pads) for pads in run.pads]


def _padded(text: IntArray, n_pads: int) -> IntArray:
    return np.concatenate([np.zeros(n_pads, dtype=text.dtype), text])


def _compared(
    cache: Caches,
    model: SmallModel,
    run: _Run,
    step: int,
    end: int,
    sequence: int,
    mine: FloatArray,
    right: ReferenceRun,
) -> DecodeFinding | None:
    """What is wrong with the logits [n, V] of a step that ends before token `end`."""
    pads, n = run.pads[sequence], run.blocks[step]
    first = max(0, end - n - pads)
    n_own = end - pads - first
    if n_own < 1:
        return None
    wanted = right.logits[first : end - pads]
    gap = float(np.abs(mine[-n_own:] - wanted).max())
    band = logits_band(cache.dtype, wanted)
    if gap <= band:
        return None
    limit = max(band, NOISE_FACTOR * _rounding(model, run, sequence, cache.dtype, right))
    if gap <= limit:
        return None
    where = f" of text {sequence}" if len(run.pads) > 1 else ""
    words = (
        f"a logit{where} is off by {gap:.3g} in step {step}, of {n} token{'s' * (n != 1)} "
        f"(wrong above {limit:.2g})"
    )
    stored = (right.stored_keys, right.values)
    wrong = cache.first_wrong(stored, sequence, pads, n_own, run.sight)
    if wrong is None:
        return _finding(run, step, None, words)
    return _finding(run, step, wrong.layer, f"{words}; {wrong.words}", wrong.preset)


def _rounding(
    model: SmallModel, run: _Run, sequence: int, dtype: str, right: ReferenceRun
) -> float:
    """How far logits move when the right rows are rounded to a type, and kept in nothing else."""
    n = len(right.logits)
    held: dict[int, list[FloatArray]] = {}

    def keep(layer: int, k: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        before = held.get(layer)
        new = [rounded(rows, dtype) for rows in (k, v)]
        if before is not None:
            new = [np.concatenate(pair, axis=2) for pair in zip(before, new, strict=True)]
        held[layer] = new
        return new[0], new[1]

    text = _texts(model, run)[sequence]
    moved = [
        in_step([model.step(text[[t]], np.array([t]), 0, run.sight)], keep)[0]  # pyright: ignore[reportArgumentType]
        for t in range(n)
    ]
    return float(np.abs(np.concatenate(moved) - right.logits).max())


def _finding(
    run: _Run, step: int, layer: int | None, words: str, preset: str | None = None
) -> DecodeFinding:
    return DecodeFinding(
        run.model, run.blocks, run.capacity, run.sinks, step, layer, words, preset, run.what
    )


def _passage(token_ids: IntArray, sight: Sight) -> Passage:
    places = np.arange(len(token_ids))
    return Passage(token_ids, places, None, sight.readable(places, places))
