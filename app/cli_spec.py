"""From the options of `kvscope run` to a run specification."""

import argparse
import os
from dataclasses import replace
from typing import Any

from core.errors import SpecError
from core.faults.fault import Scenario
from core.faults.known import KnownFaults
from core.model.config import ModelConfig
from core.model.devices import resolve_device
from core.model.loading import LoadedModel
from core.spec import Decode, FaultUse, RunSpec

DEFAULT_MODEL = "learned"
DEFAULT_CAPACITY = 128
DEFAULT_SINKS = 4
MOST_STEPS = 1_000_000
_N_BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
_TAKEN_AS_THEY_ARE = (
    "model",
    "steps",
    "policy",
    "capacity",
    "sinks",
    "reassign_positions",
    "chunk",
    "force_ids",
    "temperature",
    "top_k",
    "top_p",
    "seed",
    "dtype",
    "kv_dtype",
    "growable",
    "poison",
)


def scenario_of(
    arguments: argparse.Namespace, faults: tuple[FaultUse, ...], known: KnownFaults
) -> Scenario | None:
    """The run that shows the first of `faults`; None where a prompt was given.

    Raises:
        SpecError: there is neither a prompt nor a fault, or the prompt is empty.
    """
    if arguments.prompt == "":
        raise SpecError("--prompt '' is empty; give at least one character")
    if arguments.prompt is not None or arguments.prompt_ids is not None:
        return None
    if not faults:
        raise SpecError(
            "there is no prompt; give --prompt TEXT, --prompt-ids 1,2,3, or --fault ID alone"
        )
    return known.of(faults[0])[0].shows_in


def model_name(arguments: argparse.Namespace, scenario: Scenario | None) -> str:
    """The name or folder of the model to load."""
    if arguments.model is not None:
        return arguments.model
    return DEFAULT_MODEL if scenario is None else scenario.model


def spec_of(
    arguments: argparse.Namespace,
    scenario: Scenario | None,
    loaded: LoadedModel,
    faults: tuple[FaultUse, ...],
) -> RunSpec:
    """The run specification that the options ask for, with these `faults`.

    Raises:
        SpecError: a value that cannot be used; the message says what would do.
        DeviceError: a device that is not there.
    """
    given = {**_given(arguments), "faults": faults}
    base: dict[str, Any] = {"model": model_name(arguments, scenario)}
    if scenario is not None:
        shown = replace(scenario.spec(loaded.tokenizer.encode), **base)
        # Steps that are asked for take the place of the scenario's own requests.
        spec = replace(shown, **given, requests=None if "steps" in given else shown.requests)
    else:
        limit = loaded.config.position_limit or DEFAULT_CAPACITY
        base["capacity"] = min(DEFAULT_CAPACITY, limit)
        base["prompt_ids"] = _prompt_ids(arguments, loaded)
        spec = RunSpec(**{**base, **given})
    _check_room(spec, loaded.config)
    _check_size(spec, loaded.config)
    return spec


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options that were given, by the names of `RunSpec`."""
    given = {name: getattr(arguments, name) for name in _TAKEN_AS_THEY_ARE}
    given = {name: value for name, value in given.items() if value is not None}
    if given.get("policy") == "sinks":
        given.setdefault("sinks", DEFAULT_SINKS)
    if arguments.device is not None:
        given["device"] = str(resolve_device(arguments.device))
    return given


def _prompt_ids(arguments: argparse.Namespace, loaded: LoadedModel) -> tuple[int, ...]:
    if arguments.prompt_ids is not None:
        return arguments.prompt_ids
    return loaded.tokenizer.encode(arguments.prompt)


def _check_room(spec: RunSpec, config: ModelConfig) -> None:
    n, limit = len(spec.prompt_ids), config.position_limit
    if spec.policy == "refuse" and n > spec.capacity:
        n_in_all = n + sum(isinstance(request, Decode) for request in spec.all_requests)
        enough = n_in_all if limit is None else min(n_in_all, limit)
        raise SpecError(
            f"the prompt has {n} tokens, but a cache of {spec.capacity} slots refuses more; choose "
            f"--capacity {enough} (for all steps), a shorter prompt, or another --policy",
            field="capacity",
        )


def _check_size(spec: RunSpec, config: ModelConfig) -> None:
    """Raise SpecError where more is asked for than a machine can hold."""
    if spec.steps > MOST_STEPS:
        raise SpecError(f"steps is {spec.steps}; choose at most {MOST_STEPS}")
    # Keys and values, each in the buffer and once more in what the recorder knows of it.
    n_bytes = 4 * config.n_layers * config.n_kv_heads * config.d_head * _N_BYTES[spec.dtype]
    most = _memory_bytes() // n_bytes
    if spec.capacity > most:
        raise SpecError(
            f"capacity {spec.capacity} takes {n_bytes} bytes a slot in {spec.model}, more than "
            f"this machine has; choose at most {most}"
        )


def _memory_bytes() -> int:
    """Bytes of memory that the machine has; where it does not say (Windows), more than any has."""
    if not hasattr(os, "sysconf"):
        return 1 << 60
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
