"""Specs without a fault, of every kind."""

from hypothesis import strategies as st

from core.engine.seams import PER_LAYER
from core.errors import FaultError
from core.faults.activation import activate
from core.faults.catalog import COMBINATIONS, FAULTS
from core.model.names import N_BYTE_TOKENS
from core.spec import (
    Decode,
    FaultUse,
    NewPrompt,
    Prefill,
    Probe,
    Reorder,
    Request,
    Rollback,
    RunSpec,
    Verify,
)
from tests.helpers.runs import RELATIVE_SCHEMES, SCHEMES

POLICIES = ("refuse", "window", "reprefill", "sinks", "ranks")
"""The policies of a spec; under "ranks" the kept tokens are numbered anew."""


def token_ids(least: int, most: int) -> st.SearchStrategy[tuple[int, ...]]:
    """A few tokens of the byte vocabulary."""
    ids = st.lists(st.integers(0, N_BYTE_TOKENS - 1), min_size=least, max_size=most)
    return ids.map(tuple)


@st.composite
def settings_of(draw: st.DrawFn) -> dict[str, object]:
    """Scheme, policy, capacity 1 to 8, prompt of 1 to 20 tokens, chunks of 1 to 5 or none."""
    policy = draw(st.sampled_from(POLICIES))
    schemes = RELATIVE_SCHEMES if policy == "ranks" else SCHEMES
    capacity = draw(st.integers(1, 8))
    keeps_sinks = policy in {"sinks", "ranks"}
    return {
        "model": f"tiny-{draw(st.sampled_from(schemes))}",
        "policy": "sinks" if policy == "ranks" else policy,
        "capacity": capacity,
        "sinks": draw(st.integers(0, capacity - 1)) if keeps_sinks else 0,
        "reassign_positions": policy == "ranks",
        # A prompt that refuse would not take is one refusal: not all examples shall be that.
        "prompt_ids": draw(token_ids(1, draw(st.sampled_from([capacity, 20])))),
        "chunk": draw(st.none() | st.integers(1, 5)),
        "growable": draw(st.booleans()),
        "kv_dtype": None,
        "force_ids": draw(st.lists(st.none() | st.integers(0, 255), max_size=4).map(tuple)),
    }


@st.composite
def plain_specs(draw: st.DrawFn, *dtypes: str) -> RunSpec:
    """A prompt, then decoding."""
    settings, dtype = draw(settings_of()), draw(st.sampled_from(dtypes))
    if not settings["reassign_positions"]:
        settings["kv_dtype"] = draw(st.sampled_from([None, "int8"]))
    return RunSpec(**settings, dtype=dtype, steps=draw(st.integers(0, 8)))


@st.composite
def mixed_specs(draw: st.DrawFn, *dtypes: str) -> RunSpec:
    """Decodes, rollbacks, new prompts, further prefills and, under refuse, probes."""
    settings, dtype = draw(settings_of()), draw(st.sampled_from(dtypes))
    kinds: list[st.SearchStrategy[Request]] = [
        st.just(Decode()),
        st.just(Decode()),
        st.builds(Rollback, st.integers(1, 6)),
        st.builds(Prefill, token_ids(1, 6)),
        st.builds(NewPrompt, token_ids(1, 9)),
    ]
    if settings["policy"] == "refuse":
        kinds += [
            st.integers(1, 3).map(lambda n: Probe(n, n)),
            st.builds(Probe, st.integers(1, 3), st.integers(1, 3)),
            verifications(),
        ]
        if settings["chunk"] is None:
            prompt_ids = RunSpec(**settings).prompt_ids
            again = st.sampled_from([prompt_ids, prompt_ids[:2]])
            other = st.builds(lambda a, b: a + b, again, token_ids(0, 3))
            kinds.append(st.builds(NewPrompt, other, st.just(value=True)))
    rest = draw(st.lists(st.one_of(kinds), min_size=1, max_size=9))
    may_pad = settings["policy"] == "refuse" and settings["chunk"] is None
    n_pad = draw(st.integers(0, 3)) if may_pad else 0
    first = Prefill(settings["prompt_ids"], n_pad)
    return RunSpec(**settings, dtype=dtype, requests=(first, *rest))


@st.composite
def beam_specs(draw: st.DrawFn, *dtypes: str) -> RunSpec:
    """Two or three beams that decode and go on from each other."""
    n = draw(st.integers(2, 3))
    parents = st.lists(st.integers(0, n - 1), min_size=n, max_size=n).map(tuple)
    rest = draw(st.lists(st.just(Decode()) | st.builds(Reorder, parents), max_size=6))
    prompt_ids = draw(token_ids(1, 6))
    return RunSpec(
        f"tiny-{draw(st.sampled_from(SCHEMES))}",
        prompt_ids,
        capacity=draw(st.integers(1, 10)),
        dtype=draw(st.sampled_from(dtypes)),
        kv_dtype=draw(st.sampled_from([None, "int8"])),
        n_sequences=n,
        force_ids=draw(st.lists(st.none() | st.integers(0, 255), max_size=4).map(tuple)),
        requests=(Prefill(prompt_ids), *rest),
    )


def verifications() -> st.SearchStrategy[Verify]:
    """One to four drafts, of which none, some or all are kept."""
    drafts = token_ids(1, 4).flatmap(lambda ids: st.tuples(st.just(ids), st.integers(0, len(ids))))
    return drafts.map(lambda pair: Verify(*pair))


@st.composite
def fault_uses(draw: st.DrawFn) -> tuple[FaultUse, ...]:
    """One to three faults at some steps, in some layers where that can be; they go together."""
    names = st.sampled_from([*(fault.id for fault in FAULTS), *COMBINATIONS])
    seam_of = {fault.id: fault.seam for fault in FAULTS}
    uses: tuple[FaultUse, ...] = ()
    for name in draw(st.lists(names, min_size=1, max_size=3)):
        first = draw(st.sampled_from([0, 0, 1, 2, 4]))
        last = draw(st.sampled_from([None, None, first, first + 2]))
        layers = None
        if seam_of.get(name) in PER_LAYER:
            layers = draw(st.none() | st.lists(st.integers(0, 3), min_size=1, unique=True))
        use = FaultUse(name, first, last, None if layers is None else tuple(layers))
        try:
            activate((*uses, use), 4)
        except FaultError:
            continue
        uses += (use,)
    return uses
