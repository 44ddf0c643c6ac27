"""Every error that a form can cause is shown beside the field that it is about."""

from pathlib import Path

import pytest

from app.draft import Draft
from app.error_place import place_of
from core.errors import CoreError, TraceError
from core.faults.activation import activate
from core.model.devices import resolve_device, resolve_dtype
from core.model.loading import load_model
from core.model.saving import save_model
from core.session import Session
from core.spec import Decode, FaultUse, NewPrompt, Prefill, Probe, RunSpec


def encode(text: str) -> tuple[int, ...]:
    return tuple(text.encode())


def tiny(**settings: object) -> None:
    spec = RunSpec("tiny-learned", **{"prompt_ids": (1, 2), **settings})
    Session(spec, load_model("tiny-learned"))


CASES = {
    "empty prompt": ("prompt", lambda: Draft("learned", "").spec(encode)),
    "foreign token": ("prompt", lambda: tiny(prompt_ids=(1, 999))),
    "half a character": (
        "prompt",
        lambda: Draft("tiny", "a\ud800").spec(load_model("tiny-learned").tokenizer.encode),
    ),
    "empty prompt of a script": (
        "prompt",
        lambda: Draft("learned", "", then=(Decode(),)).spec(encode),
    ),
    "foreign token in a script": (
        None,
        lambda: tiny(requests=(Prefill((1, 2)), NewPrompt((1, 999)))),
    ),
    "foreign forced token": (None, lambda: tiny(force_ids=(999,))),
    "probe under a window": (
        "policy",
        lambda: tiny(policy="window", requests=(Prefill((1, 2)), Probe(1, 1))),
    ),
    "no slots": ("capacity", lambda: Draft("learned", "a", capacity=0).spec(encode)),
    "more slots than positions": ("capacity", lambda: tiny(capacity=300)),
    "sinks fill it": (
        "sinks",
        lambda: Draft("learned", "a", policy="sinks", capacity=4, sinks=4).spec(encode),
    ),
    "learned positions stay": (
        "sinks",
        lambda: tiny(policy="sinks", sinks=1, reassign_positions=True),
    ),
    "empty chunk": ("chunk", lambda: Draft("learned", "a", chunk=0).spec(encode)),
    "cold": ("temperature", lambda: Draft("learned", "a", temperature=-1).spec(encode)),
    "seed below 0": ("seed", lambda: Draft("learned", "a", seed=-1).spec(encode)),
    "unknown policy": ("policy", lambda: Draft("learned", "a", policy="lru").spec(encode)),
    "unknown model": ("model", lambda: load_model("no-such-model")),
    "unknown device": ("device", lambda: resolve_device("cuda:77")),
    "unknown number type": (
        "dtype",
        lambda: resolve_dtype("float8", resolve_device("cpu")),
    ),
    "two faults on one seam": (
        "faults",
        lambda: activate((FaultUse("cap-counter-first"), FaultUse("store-uneven")), 4),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_error_is_placed_beside_its_field(case):
    place, cause = CASES[case]
    with pytest.raises(CoreError) as caught:
        cause()
    assert place_of(caught.value) == place


def folder_of(name: str, tmp_path: Path) -> str:
    """A model in a folder of this name."""
    loaded = load_model("tiny-learned")
    save_model(tmp_path / name, loaded.weights, loaded.tokenizer.json_text)
    return str(tmp_path / name)


@pytest.mark.parametrize("name", ["my-prompts", "policy 'x'", "sinks", "chunk", "seed", "dtype"])
def test_the_name_of_a_model_decides_no_place(name, tmp_path):
    folder = folder_of(name, tmp_path)
    with pytest.raises(CoreError) as caught:
        Session(RunSpec(folder, (1, 2), capacity=999), load_model(folder))
    assert name in str(caught.value)
    assert place_of(caught.value) == "capacity"


def test_an_error_of_a_file_belongs_to_no_field():
    assert place_of(TraceError("a.kvtrace: it is no trace")) is None
