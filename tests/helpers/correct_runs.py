"""Random runs without a fault, of every kind that a person can set up, and how they were judged."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import torch

from core.forwards import Forwards
from core.model.loading import LoadedModel, load_model
from core.model.weights import random_weights, weights_from_tensors
from core.noise import Forward
from core.policy_oracle import PolicyOracle, PolicyRules
from core.reference import Reference
from core.spec import (
    Decode,
    DTypeName,
    NewPrompt,
    Prefill,
    Probe,
    Reorder,
    Request,
    Rollback,
    RunSpec,
    Verify,
)
from core.tolerance import largest_gap
from core.verdict import StepVerdict
from tests.helpers.diagnosis_cases import diagnosis_of
from tests.helpers.runs import SCHEMES, Judged, judged

POLICIES = ("refuse", "window", "reprefill", "sinks", "ranks")
_KINDS = ("plain", "plain", "plain", "script", "script", "padded", "reused", "beams")
_DEPTHS = (1, 2, 4, 4, 4, 8, 12)
Random = random.Random


@dataclass(frozen=True, slots=True)
class Case:
    """A run to be made.

    Attributes:
        kind: what is asked of the engine.
        model: its name, with the seed of its weights and its layers where they are others.
        loaded: the model.
        spec: the run.
    """

    kind: str
    model: str
    loaded: LoadedModel
    spec: RunSpec

    @property
    def policy(self) -> str:
        """The policy; "ranks" where kept tokens are numbered anew."""
        return "ranks" if self.spec.reassign_positions else self.spec.policy


@dataclass(frozen=True, slots=True)
class Found:
    """What was said of a run without a fault. All but the standings should be 0.

    Attributes:
        standings: steps by the standing of their logits; "none" where there are none.
        wrong_policy: steps with a wrong policy verdict.
        wrong_mechanism: steps with a wrong mechanism verdict.
        off_rows: steps in which a row is marked as not what the reference computes.
        off_layers: steps in which a layer's residual is drawn as off.
        named: mechanisms that the diagnosis names.
        of_band: largest error of a logit, as a multiple of the band.
        of_threshold: the same, as a multiple of the error above which it is called wrong.
        of_noise: the same, as a multiple of the error of a forward without a cache (the largest so
            far). None: it was not measured, or there is no such error.
    """

    standings: dict[str, int]
    wrong_policy: int
    wrong_mechanism: int
    off_rows: int
    off_layers: int
    named: tuple[str, ...]
    of_band: float
    of_threshold: float
    of_noise: float | None

    @property
    def is_alarm(self) -> bool:
        """Whether anything is said to be wrong."""
        n_wrong = self.standings.get("wrong", 0) + self.wrong_policy + self.wrong_mechanism
        return n_wrong + self.off_rows + self.off_layers + len(self.named) > 0


def random_case(dtype: DTypeName, seed: int, number: int, *, amplifies: bool = False) -> Case:
    """A run without a fault; the same arguments give the same one.

    Args:
        dtype: number type of the engine.
        seed: of all runs.
        number: of the run.
        amplifies: take models of odd shapes that may make rounding grow from layer to layer.
    """
    rng = Random(f"{'amplified' if amplifies else 'correct'}/{dtype}/{seed}/{number}")
    kind = rng.choice(_KINDS)
    name, loaded = _amplifying_model(rng) if amplifies else _some_model(rng)
    settings = {"model": loaded.config.name, "dtype": dtype, **_SETTINGS[kind](rng, loaded)}
    return Case(kind, name, loaded, RunSpec(**settings, **_choosing(rng)))


def found_in(case: Case) -> Found:
    """Run it, and count what is said to be wrong."""
    with torch.inference_mode():
        run = judged(case.spec, case.loaded)
    logits = [verdict.logits for verdict in run.verdicts if verdict.logits is not None]
    return Found(
        standings=dict(Counter(standing or "none" for standing in run.logits)),
        wrong_policy=run.policy.count("wrong"),
        wrong_mechanism=run.mechanism.count("wrong"),
        off_rows=sum(any(verdict.off_rows) for verdict in run.verdicts),
        off_layers=sum(_has_a_layer_off(verdict) for verdict in run.verdicts),
        named=tuple(found.preset_like or "unknown" for found in diagnosis_of(run)),
        of_band=max((v.max_abs_error / v.band for v in logits), default=0.0),
        of_threshold=max((v.max_abs_error / v.wrong_above for v in logits), default=0.0),
        of_noise=_of_noise(case, run) if case.kind == "plain" else None,
    )


def _has_a_layer_off(verdict: StepVerdict) -> bool:
    stages = verdict.stages
    if stages is None or stages.layer_errors is None or stages.layer_bands is None:
        return False
    pairs = zip(stages.layer_errors, stages.layer_bands, strict=True)
    return not all(error <= band for error, band in pairs)


def _of_noise(case: Case, run: Judged) -> float | None:
    """Largest error of a logit, as a multiple of a forward without a cache's largest so far."""
    spec, config = case.spec, case.loaded.config
    weights = case.loaded.weights.to(getattr(torch, spec.dtype), "cpu")
    oracle = PolicyOracle(
        PolicyRules(
            spec.policy, spec.capacity, spec.sinks, spec.reassign_positions, config.position_limit
        )
    )  # fmt: skip
    records = [record for record in run.trace.records if record.is_computed]
    steps = [oracle.append(record.token_ids, engine_accepted=True) for record in records]
    places = [(step.passage_id, step.row) for step in steps if step.row is not None]
    reference = Reference(config, weights.arrays(), is_narrowed=spec.kv_dtype is not None)
    forwards = Forwards(reference, oracle.passage, places)
    forward = Forward(weights, reference.is_narrowed)
    noise, worst = 0.0, None
    for record, (number, row) in zip(records, places, strict=True):
        first_row = forwards.run(number).first_row
        noise = max(noise, float(forwards.noise(number, forward).logits[row - first_row]))
        error = largest_gap(np.asarray(record.logits), forwards.logits(number, row))
        if noise > 0:
            worst = max(worst or 0.0, error / noise)
    return worst


# Models


@cache
def _tiny(scheme: str, seed: int, n_layers: int) -> LoadedModel:
    loaded = load_model(f"tiny-{scheme}")
    config = replace(loaded.config, n_layers=n_layers)
    return replace(loaded, config=config, weights=random_weights(config, seed))


@cache
def _shipped() -> LoadedModel:
    return load_model("learned")


def _some_model(rng: Random) -> tuple[str, LoadedModel]:
    """The shipped one in one of six runs, else a random one."""
    if rng.randrange(6) == 0:
        return "learned", _shipped()
    scheme, seed, n_layers = rng.choice(SCHEMES), rng.randint(1, 40), rng.choice(_DEPTHS)
    return f"tiny-{scheme} ({n_layers} layers, seed {seed})", _tiny(scheme, seed, n_layers)


_MATRICES = ("qkv_weight", "out_weight", "up_weight", "down_weight")


def _amplifying_model(rng: Random) -> tuple[str, LoadedModel]:
    """One to 24 layers of any shape; matrices up to four times as large; some numbers far out."""
    scheme, n_layers = rng.choice(SCHEMES), rng.choice((1, 2, 6, 12, 24))
    n_heads, d_head = rng.choice((1, 2, 4, 8)), rng.choice((2, 8, 16, 32))
    width = n_heads * d_head
    n_shared = rng.choice([n for n in (1, 2, 4, 8) if n_heads % n == 0])
    gain, seed, is_far_out = rng.choice((0.3, 1, 1, 2, 4)), rng.randrange(1000), rng.random() < 0.4
    loaded = load_model(f"tiny-{scheme}")
    config = replace(
        loaded.config, n_layers=n_layers, n_heads=n_heads, d_head=d_head, d_model=width,
        n_kv_heads=n_shared if scheme == "rope" else n_heads, d_mlp=4 * width,
    )  # fmt: skip
    tensors = {
        name: tensor * gain if name.endswith(_MATRICES) else tensor
        for name, tensor in random_weights(config, seed).tensors().items()
    }
    if is_far_out:
        scale = torch.ones(width, dtype=tensors["embedding"].dtype)
        scale[rng.randrange(width)] = 100.0
        tensors["embedding"] = tensors["embedding"] * scale
    name = f"tiny-{scheme} ({n_layers} layers, {n_heads} heads of {d_head}, gain {gain}"
    name += ", far out)" if is_far_out else ")"
    weights = weights_from_tensors(config, tensors)
    return name, replace(loaded, config=config, weights=weights)


# Runs

Settings = dict[str, object]


def _ids(rng: Random, loaded: LoadedModel, least: int, most: int) -> tuple[int, ...]:
    n = rng.randint(least, most)
    return tuple(rng.randrange(loaded.config.vocab_size) for _ in range(n))


def _choosing(rng: Random) -> Settings:
    """Half of the runs are greedy; the seed also decides a probe's rows."""
    settings: Settings = {"seed": rng.randrange(1000)}
    if rng.random() < 0.5:
        settings["temperature"] = rng.choice((0.5, 1.0, 2.0))
        settings["top_k"] = rng.choice((None, 1, 20))
        settings["top_p"] = rng.choice((None, 0.5, 0.95))
    return settings


def _forced(rng: Random, loaded: LoadedModel) -> tuple[int | None, ...]:
    n = rng.choice((0, 0, 2, 5))
    return tuple(rng.choice((None, rng.randrange(loaded.config.vocab_size))) for _ in range(n))


def _policy(rng: Random, loaded: LoadedModel, longest: int) -> Settings:
    """A policy, and a capacity below or above the length of the text."""
    is_relative = loaded.config.position_limit is None
    policy = rng.choice(POLICIES if is_relative else POLICIES[:-1])
    capacity = rng.choice((rng.randint(1, 8), rng.randint(1, longest), longest + 2))
    if policy == "refuse" and rng.random() < 0.7:
        capacity = longest + rng.randint(0, 4)  # a run that is refused at once shows little
    keeps_sinks = policy in ("sinks", "ranks")
    return {
        "policy": "sinks" if policy == "ranks" else policy,
        "capacity": capacity,
        "sinks": rng.randrange(capacity) if keeps_sinks else 0,
        "reassign_positions": policy == "ranks",
        "kv_dtype": None if policy == "ranks" else rng.choice((None, None, None, "int8")),
        "chunk": rng.choice((None, None, 1, rng.randint(2, 7))),
        "growable": rng.random() < 0.3,
    }


def _plain(rng: Random, loaded: LoadedModel) -> Settings:
    """A prompt, then decoding."""
    prompt = _ids(rng, loaded, 1, rng.choice((6, 16, 60)))
    steps = rng.choice((rng.randint(0, 8), rng.randint(9, 30)))
    policy = _policy(rng, loaded, len(prompt) + steps)
    return {
        "prompt_ids": prompt, "steps": steps, "force_ids": _forced(rng, loaded), **policy,
    }  # fmt: skip


def _script(rng: Random, loaded: LoadedModel) -> Settings:
    """Decodes, rollbacks, new prompts, further prefills and, under refuse, drafts and probes."""
    prompt = _ids(rng, loaded, 1, 12)
    policy = _policy(rng, loaded, len(prompt) + 14)
    return {"prompt_ids": prompt, "requests": (Prefill(prompt), *_rest(rng, loaded, policy)),
            "force_ids": _forced(rng, loaded), **policy}  # fmt: skip


def _rest(rng: Random, loaded: LoadedModel, policy: Settings) -> list[Request]:
    makers: list[Callable[[], Request]] = [
        Decode,
        Decode,
        Decode,
        lambda: Rollback(rng.randint(1, 5)),
        lambda: Prefill(_ids(rng, loaded, 1, 6)),
        lambda: NewPrompt(_ids(rng, loaded, 1, 9)),
    ]
    if policy["policy"] == "refuse":
        makers.append(lambda: _verify(rng, loaded))
        if policy["kv_dtype"] is None:
            makers.append(lambda: Probe(rng.randint(1, 3), rng.randint(1, 3)))
    return [rng.choice(makers)() for _ in range(rng.randint(2, 12))]


def _verify(rng: Random, loaded: LoadedModel) -> Verify:
    drafts = _ids(rng, loaded, 1, 4)
    return Verify(drafts, rng.randint(0, len(drafts)))


def _of_refuse(rng: Random, room: int) -> Settings:
    return {
        "capacity": room + rng.randint(0, 6),
        "kv_dtype": rng.choice((None, None, "int8")),
    }


def _padded(rng: Random, loaded: LoadedModel) -> Settings:
    """A prompt with padding before it."""
    prompt, n_pad = _ids(rng, loaded, 1, 14), rng.randint(1, 6)
    policy = {**_of_refuse(rng, len(prompt) + n_pad + 10), "policy": "refuse"}
    return {
        "prompt_ids": prompt,
        "requests": (Prefill(prompt, n_pad), *_rest(rng, loaded, policy)),
        "growable": rng.random() < 0.3,
        **policy,
    }


def _reused(rng: Random, loaded: LoadedModel) -> Settings:
    """New prompts that go on from the rows of the old text."""
    prompt = _ids(rng, loaded, 2, 12)
    rest: list[Request] = []
    for _ in range(rng.randint(1, 3)):
        again = prompt[: rng.randint(1, len(prompt))] + _ids(rng, loaded, 0, 4)
        rest += [*([Decode()] * rng.randint(0, 3)), NewPrompt(again, reuse_prefix=True)]
    rest += [Decode()] * rng.randint(1, 4)
    return {
        "prompt_ids": prompt,
        "requests": (Prefill(prompt), *rest),
        "growable": rng.random() < 0.3,
        **_of_refuse(rng, 2 * len(prompt) + 4),
    }


def _beams(rng: Random, loaded: LoadedModel) -> Settings:
    """Two to four texts that go on from each other."""
    n, prompt = rng.randint(2, 4), _ids(rng, loaded, 1, 10)
    rest: list[Request] = []
    for _ in range(rng.randint(1, 4)):
        rest += [Decode()] * rng.randint(1, 3)
        rest.append(Reorder(tuple(rng.randrange(n) for _ in range(n))))
    return {
        "prompt_ids": prompt,
        "requests": (Prefill(prompt), *rest, Decode(), Decode()),
        "n_sequences": n,
        **_of_refuse(rng, len(prompt) + 14),
    }


_SETTINGS: dict[str, Callable[[Random, LoadedModel], Settings]] = {
    "plain": _plain,
    "script": _script,
    "padded": _padded,
    "reused": _reused,
    "beams": _beams,
}


def alarms(
    numbers: Sequence[int], dtype: DTypeName, seed: int, *, amplifies: bool = False
) -> list[int]:
    """The numbers of those runs of which anything is said to be wrong."""
    cases = {n: random_case(dtype, seed, n, amplifies=amplifies) for n in numbers}
    return [n for n, case in cases.items() if found_in(case).is_alarm]
