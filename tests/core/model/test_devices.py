"""Devices and number types that are there, and clear words about those that are not."""

import pytest
import torch

from core.errors import DeviceError
from core.model.devices import device_names, resolve_device, resolve_dtype

CPU = torch.device("cpu")


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7 + device.index, 5))
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)


@pytest.fixture
def nothing_but_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)


@pytest.mark.usefixtures("nothing_but_cpu")
@pytest.mark.parametrize("name", ["cpu", "auto"])
def test_the_processor_is_always_there(name: str) -> None:
    assert resolve_device(name) == CPU


@pytest.mark.usefixtures("nothing_but_cpu")
@pytest.mark.parametrize("name", ["cuda", "cuda:0", "mps", "tpu", "", "CPU"])
def test_a_device_that_is_not_there_is_refused_with_those_that_are(name: str) -> None:
    with pytest.raises(DeviceError) as caught:
        resolve_device(name)

    assert str(caught.value) == f"device {name!r} is not there; this machine has cpu"


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize(
    ("name", "device"),
    [("auto", "cuda:0"), ("cuda", "cuda:0"), ("cuda:1", "cuda:1"), ("cpu", "cpu")],
)
def test_a_gpu_is_found_by_name_and_number(name: str, device: str) -> None:
    assert resolve_device(name) == torch.device(device)


@pytest.mark.usefixtures("two_gpus")
def test_a_gpu_number_too_high_is_refused_with_those_there_are() -> None:
    with pytest.raises(DeviceError, match=r"'cuda:2' is not there; .* cpu, cuda:0, cuda:1$"):
        resolve_device("cuda:2")


def test_metal_is_found(monkeypatch: pytest.MonkeyPatch, nothing_but_cpu: None) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)

    assert device_names() == ("cpu", "mps")
    assert resolve_device("auto") == torch.device("mps")


@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16", "float16"])
def test_the_processor_has_every_number_type(name: str) -> None:
    assert resolve_dtype(name, CPU) == getattr(torch, name)


def test_an_unknown_number_type_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(DeviceError, match=r"'int8' is unknown; choose float32, float64, bfloat16"):
        resolve_dtype("int8", CPU)


def test_metal_has_no_float64() -> None:
    with pytest.raises(DeviceError, match=r"'mps' has no float64; it has float32, bfloat16, float"):
        resolve_dtype("float64", torch.device("mps"))


@pytest.mark.usefixtures("two_gpus")
def test_bfloat16_needs_a_gpu_of_capability_eight() -> None:
    assert resolve_dtype("bfloat16", torch.device("cuda:1")) == torch.bfloat16
    with pytest.raises(DeviceError, match=r"'cuda:0' has no bfloat16"):
        resolve_dtype("bfloat16", torch.device("cuda:0"))
