"""Specs without a fault, of every kind."""

from hypothesis import strategies as st

from core.model.names import N_BYTE_TOKENS
from core.spec import Decode, NewPrompt, Prefill, Probe, Request, Rollback, RunSpec
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
        "force_ids": draw(st.lists(st.none() | st.integers(0, 255), max_size=4).map(tuple)),
    }


@st.composite
def plain_specs(draw: st.DrawFn, *dtypes: str) -> RunSpec:
    """A prompt, then decoding."""
    settings, dtype = draw(settings_of()), draw(st.sampled_from(dtypes))
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
        ]
    rest = draw(st.lists(st.one_of(kinds), min_size=1, max_size=9))
    return RunSpec(**settings, dtype=dtype, requests=(Prefill(settings["prompt_ids"]), *rest))
