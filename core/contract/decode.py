"""The model test: small models decode with the keys and values that a class gives back.

At every step each layer hands its new rows to the class, and attends over exactly what comes back;
the logits must be those of a pass without any cache. The last row that comes back is taken for the
newest token's, the one before it for the token before, and so on; where whole buffers come back,
the first rows count, as many as there were tokens. Sinks come before the newest rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.arrays import IntArray
from core.contract.calls import Append, Sizes
from core.contract.check import Verdict
from core.contract.decode_model import Sight, SmallModel
from core.contract.decode_rows import BAND, Caches, NarrowError, NoRowsError
from core.contract.ideal import fits
from core.contract.plan import Plan
from core.contract.subject import GaveUpError, Subject
from core.reference import Passage

MODELS = ("tiny-learned", "tiny-rope", "tiny-alibi")
PROMPTS = ((1,), (2,), (1, 1), (5,))
N_DECODED = 3
WINDOW = 3
WINDOW_WITH_SINKS, N_SINKS = 5, 2


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
    """

    model: str
    blocks: tuple[int, ...]
    capacity: int
    sinks: int | None
    step: int
    layer: int | None
    found: str


@dataclass(frozen=True, slots=True)
class ModelTest:
    """What came of it.

    Attributes:
        models: those that decoded, in this order.
        finding: the first run that goes wrong; None: none did.
        not_covered: what no run looked at, in words.
    """

    models: tuple[str, ...]
    finding: DecodeFinding | None
    not_covered: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Run:
    """A model, its steps, and the cache's size; sinks are None where the class takes none."""

    model: str
    blocks: tuple[int, ...]
    capacity: int
    sinks: int | None
    is_window: bool

    @property
    def sight(self) -> Sight:
        return Sight(self.capacity if self.is_window else None, self.sinks or 0)


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
    not_covered = ["several sequences: one is decoded"] if plan.takes_batches else []
    if _feeds_singles(plan):
        not_covered.append(
            "blocks of tokens in a window that is full: adding rows gives nothing back to attend "
            "to, so single tokens were fed"
        )
    done: list[str] = []
    for name in MODELS:
        model = SmallModel.load(name)
        sizes = _sizes(plan, model)
        if sizes is None:
            not_covered.append(f"{name}: its rows are of other sizes than those that are given")
            continue
        done.append(name)
        for run in _runs(plan, name):
            try:
                found = _decoded(subject, plan, model, sizes, run)
            except (GaveUpError, NarrowError) as error:
                return ModelTest((), None, (*not_covered, str(error)))
            if found is not None:
                return ModelTest(tuple(done), found, tuple(not_covered))
    return ModelTest(tuple(done), None, tuple(not_covered))


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
    is_window = plan.policy == "window"
    takes_sinks = "sinks" in plan.surface.roles
    none = 0 if takes_sinks else None
    for prompt in PROMPTS:
        blocks = (*prompt, *(1,) * N_DECODED, 2)
        yield _Run(model, blocks, sum(blocks), none, is_window)
        fed = (1,) * sum(blocks) if _feeds_singles(plan) else blocks
        if is_window:
            yield _Run(model, fed, WINDOW, none, is_window)
        if is_window and takes_sinks:
            yield _Run(model, fed, WINDOW_WITH_SINKS, N_SINKS, is_window)


def _feeds_singles(plan: Plan) -> bool:
    """Whether the rows that leave with a block cannot be seen by it."""
    return plan.policy == "window" and not plan.gives_back


def _decoded(
    subject: Subject, plan: Plan, model: SmallModel, sizes: Sizes, run: _Run
) -> DecodeFinding | None:
    """Decode, and compare each step."""
    token_ids = np.random.default_rng(0).integers(0, model.config.vocab_size, sum(run.blocks))
    wanted = model.reference.forward(_passage(token_ids, run.sight))
    right = (wanted.stored_keys, wanted.values)
    cache = Caches(subject, plan, replace(sizes, capacity=run.capacity, sinks=run.sinks))
    start = 0
    for step, n in enumerate(run.blocks):
        cache.begin(start + n)
        ids = token_ids[start : start + n]
        try:
            logits = model.step(ids, start, cache.rows_of_layer, run.sight)  # pyright: ignore[reportArgumentType]  (numbers of a user's class)
        except NoRowsError as error:
            return _finding(run, step, error.layer, error.words)
        gap = float(np.abs(logits - wanted.logits[start : start + n]).max())
        start += n
        if not gap <= BAND:
            words = f"a logit is off by {gap:.3g} in step {step}, of {n} token{'s' * (n != 1)}"
            first = cache.first_wrong(right, n, run.sight)
            if first is None:
                return _finding(run, step, None, words)
            return _finding(run, step, first[0], f"{words}; {first[1]}")
    return None


def _finding(run: _Run, step: int, layer: int | None, words: str) -> DecodeFinding:
    return DecodeFinding(run.model, run.blocks, run.capacity, run.sinks, step, layer, words)


def _passage(token_ids: IntArray, sight: Sight) -> Passage:
    places = np.arange(len(token_ids))
    return Passage(token_ids, places, None, sight.readable(places, places))
