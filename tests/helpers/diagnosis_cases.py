"""Random runs that can show each fault, and what the diagnosis makes of them."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from core.diagnose.diagnose import diagnose
from core.diagnose.finding import Diagnosis
from core.faults.catalog import FAULTS
from core.faults.classes import are_alike
from core.model.loading import LoadedModel, load_model
from core.spec import (
    Decode,
    FaultUse,
    NewPrompt,
    Prefill,
    Probe,
    Reorder,
    Rollback,
    RunSpec,
    Verify,
)
from tests.helpers.runs import Judged, judged, run

Settings = dict[str, object]


def _ids(rng: random.Random, least: int, most: int) -> tuple[int, ...]:
    return tuple(rng.randrange(1, 256) for _ in range(rng.randint(least, most)))


def _decoding(rng: random.Random) -> Settings:
    prompt, steps = _ids(rng, 1, 13), rng.randint(3, 9)
    room = rng.randint(2, 17)
    return {"prompt_ids": prompt, "steps": steps, "capacity": len(prompt) + steps + room}


def _filling(rng: random.Random) -> Settings:
    prompt, room = _ids(rng, 1, 13), rng.randint(0, 5)
    return {"prompt_ids": prompt, "steps": room + 3, "capacity": len(prompt) + room}


def _window(rng: random.Random) -> Settings:
    capacity = rng.randint(4, 11)
    prompt = _ids(rng, 1, capacity)
    steps = capacity - len(prompt) + rng.randint(2, 6)
    return {"prompt_ids": prompt, "steps": steps, "capacity": capacity, "policy": "window"}


def _sinks(rng: random.Random) -> Settings:
    settings = _window(rng)
    return {**settings, "policy": "sinks", "sinks": rng.randint(1, 3)}


def _reprefill(rng: random.Random) -> Settings:
    return {**_window(rng), "policy": "reprefill"}


def _chunked(rng: random.Random) -> Settings:
    settings = _decoding(rng)
    return {**settings, "prompt_ids": _ids(rng, 5, 14), "chunk": rng.randint(2, 4), "capacity": 40}


def _chunked_window(rng: random.Random) -> Settings:
    return {
        "prompt_ids": _ids(rng, 8, 16),
        "steps": rng.randint(2, 5),
        "capacity": rng.randint(4, 7),
        "policy": "window",
        "chunk": rng.randint(2, 4),
    }


def _then(rng: random.Random, *requests: object, least: int = 2) -> Settings:
    prompt = _ids(rng, least, 12)
    return {
        "prompt_ids": prompt,
        "requests": (Prefill(prompt), *requests),
        "capacity": len(prompt) + rng.randint(12, 25),
    }


def _decodes(rng: random.Random, least: int, most: int) -> tuple[Decode, ...]:
    return (Decode(),) * rng.randint(least, most)


def _refused(rng: random.Random) -> Settings:
    settings = _then(rng)
    prompt, room = settings["prompt_ids"], rng.randint(2, 5)
    back = rng.randint(1, room)
    return {
        **settings,
        "capacity": len(prompt) + room,
        "requests": (
            Prefill(prompt), *(Decode(),) * (room + 1), Rollback(back), *_decodes(rng, 1, 3),
        ),
    }  # fmt: skip


def _verified(rng: random.Random) -> Settings:
    drafts = _ids(rng, 2, 5)
    verify = Verify(drafts, rng.randint(0, len(drafts) - 2))
    return _then(rng, *_decodes(rng, 1, 3), verify, *_decodes(rng, 1, 4))


def _rolled_back(rng: random.Random) -> Settings:
    return _then(rng, *(Decode(),) * 4, Rollback(rng.randint(2, 4)), *_decodes(rng, 1, 4))


def _reused(rng: random.Random) -> Settings:
    settings = _then(rng)
    prompt = settings["prompt_ids"]
    again = NewPrompt(prompt, reuse_prefix=True)
    rest = (*_decodes(rng, 0, 3), again, *_decodes(rng, 1, 3))
    return {**settings, "requests": (Prefill(prompt), *rest)}


def _two_prompts(rng: random.Random) -> Settings:
    return _then(rng, *_decodes(rng, 0, 3), NewPrompt(_ids(rng, 2, 9)), *_decodes(rng, 1, 3))


def _uneven(rng: random.Random) -> Settings:
    n = rng.sample((1, 2, 3), 2)
    return _then(rng, *_decodes(rng, 0, 2), Probe(*n), *_decodes(rng, 1, 3))


def _crowded(rng: random.Random) -> Settings:
    settings = _then(rng)
    prompt, room, n = settings["prompt_ids"], rng.randint(1, 3), rng.randint(2, 4)
    return {
        **settings,
        "capacity": len(prompt) + 2 + min(room, n - 1),
        "requests": (Prefill(prompt), Decode(), Decode(), Probe(n, n), *_decodes(rng, 1, 2)),
    }


def _padded(rng: random.Random) -> Settings:
    settings = _then(rng)
    prompt = settings["prompt_ids"]
    first = Prefill(prompt, rng.randint(1, 5))
    return {**settings, "requests": (first, *_decodes(rng, 2, 6))}


def _narrow(rng: random.Random) -> Settings:
    return {**_decoding(rng), "kv_dtype": "int8"}


def _growing(rng: random.Random) -> Settings:
    prompt = _ids(rng, 2, 11)
    steps = max(8, len(prompt)) - len(prompt) + rng.randint(2, 5)
    return {
        "prompt_ids": prompt, "steps": steps, "growable": True,
        "capacity": len(prompt) + steps + rng.randint(0, 9),
    }  # fmt: skip


def _beams(rng: random.Random) -> Settings:
    n = rng.randint(2, 3)
    parents = tuple((b + rng.randint(1, n - 1)) % n for b in range(n))
    rest = (*_decodes(rng, 1, 3), Reorder(parents), *_decodes(rng, 1, 3))
    return {**_then(rng, *rest), "n_sequences": n}


Kind = Callable[[random.Random], Settings]
KINDS: dict[str, tuple[Kind, ...]] = {
    "pos-restart": (_decoding, _chunked, _window, _verified),
    "pos-skip-single": (_decoding, _window),
    "pos-wrong-axis": (_decoding, _chunked, _window),
    "pos-hole": (_decoding, _chunked),
    "pos-memo": (_decoding, _chunked, _window),
    "pos-stale-prompt": (_decoding, _chunked),
    "pos-layer-counter": (_decoding, _window),
    "pos-layer-prefill": (_decoding, _window),
    "pos-captured-alias": (_decoding, _window),
    "pos-retained-rows": (_window, _sinks),
    "pos-pad-mixed": (_padded,),
    "pos-pad-columns": (_padded,),
    "rope-on-read": (_decoding, _window),
    "rope-write-back": (_decoding, _window),
    "rope-writeback-lost": (_decoding, _window),
    "mask-top-left": (_decoding, _chunked, _window, _verified),
    "mask-own-block": (_decoding, _chunked, _window, _verified),
    "mask-own-chunk": (_chunked, _chunked_window, _verified),
    "mask-off-with-cache": (_decoding, _chunked),
    "mask-unwritten": (_decoding, _chunked),
    "mask-pads-open": (_padded,),
    "mask-nan-row": (_padded,),
    "cap-early": (_filling, _window, _sinks, _reprefill, _refused),
    "cap-late": (_filling, _window, _reprefill, _refused),
    "cap-counter-first": (_refused,),
    "cap-one-row-test": (_crowded,),
    "evict-newest": (_window,),
    "evict-off-by-one": (_window, _sinks, _chunked_window),
    "evict-one-short": (_window, _sinks, _chunked_window),
    "evict-never": (_window, _sinks),
    "evict-before-attend": (_chunked_window,),
    "ring-start": (_window,),
    "ring-shuffle": (_window,),
    "sinks-lost": (_sinks,),
    "store-row-zero": (_decoding, _chunked),
    "store-alias-in": (_decoding, _chunked),
    "store-alias-out": (_decoding, _chunked),
    "store-write-lost": (_decoding, _chunked, _window),
    "store-first-lost": (_decoding, _chunked),
    "store-layers-share": (_decoding, _chunked),
    "store-double-append": (_decoding,),
    "store-grow-scramble": (_growing,),
    "store-stale-reset": (_two_prompts,),
    "store-uneven": (_uneven,),
    "beam-no-reorder": (_beams,),
    "beam-keys-only": (_beams,),
    "spec-no-rollback": (_verified, _rolled_back),
    "spec-short": (_verified, _rolled_back),
    "spec-reset": (_verified, _rolled_back),
    "prefix-last-twice": (_reused,),
    "gqa-tile": (_decoding, _chunked),
    "quant-floor": (_narrow,),
    "quant-no-descale": (_narrow,),
    "quant-zero-scale": (_narrow,),
    "gauge-lies": (_window, _sinks),
}
"""The kinds of run in which a fault has what it needs."""

CASES = tuple((fault.id, scheme) for fault in FAULTS for scheme in fault.schemes)
"""Every fault in every scheme in which it shows."""


MODELS = {
    "learned": ("learned", "tiny-learned"),
    "rope": ("tiny-rope",),
    "alibi": ("tiny-alibi",),
}
"""The models of each scheme."""


def random_spec(fault_id: str, scheme: str, seed: int) -> RunSpec:
    """A run that can show a fault; the same seed gives the same."""
    rng = random.Random(f"{fault_id} {scheme} {seed}")
    settings = rng.choice(KINDS[fault_id])(rng)
    model = rng.choice(MODELS[scheme])
    dtype = rng.choice(("float32", "float32", "float64", "bfloat16"))
    return RunSpec(model, **{"dtype": dtype, **settings})


@cache
def loaded_model(name: str) -> LoadedModel:
    """A model, loaded once."""
    return load_model(name)


Outcome = Literal["first", "class", "second", "missed", "silent", "unchanged"]
"""Of a case: the fault was named first; one of its class was, with the same records; it was the
first rival; it was neither; no verdict was wrong; no field of any record was changed."""


@dataclass(frozen=True, slots=True)
class Case:
    """A run with a fault, and what was said of it."""

    spec: RunSpec
    outcome: Outcome
    found: tuple[Diagnosis, ...]


def diagnosis_of(judged_run: Judged) -> tuple[Diagnosis, ...]:
    """What is said of a judged run."""
    verdicts = {verdict.step: verdict for verdict in judged_run.verdicts}
    return diagnose(judged_run.trace.records, verdicts)


def case_of(fault_id: str, scheme: str, seed: int) -> Case:
    """A random run with the fault."""
    return diagnosed(random_spec(fault_id, scheme, seed), fault_id)


def diagnosed(clean: RunSpec, fault_id: str) -> Case:
    """A run with the fault, diagnosed."""
    spec = replace(clean, faults=(FaultUse(fault_id),))
    result = judged(spec, loaded_model(spec.model))
    found = diagnosis_of(result)
    return Case(spec, _outcome(clean, fault_id, result, found), found)


def _outcome(
    clean: RunSpec, fault_id: str, result: Judged, found: tuple[Diagnosis, ...]
) -> Outcome:
    if not found:
        is_same = _digests(clean) == result.trace.digests()
        return "unchanged" if is_same else "silent"
    first = found[0]
    if first.preset_like == fault_id:
        return "first"
    if first.preset_like is not None and are_alike(fault_id, first.preset_like):
        other = replace(clean, faults=(FaultUse(first.preset_like),))
        if _digests(other) == result.trace.digests():
            return "class"
    rivals = [rival.preset_like for rival in first.rivals[:1]]
    return "second" if fault_id in rivals else "missed"


def _digests(spec: RunSpec) -> list[str]:
    return run(spec, loaded_model(spec.model)).digests()
