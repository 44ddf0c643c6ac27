"""Which devices and number types this machine has."""

import torch

from core.errors import DeviceError

_DTYPES = {
    "float32": torch.float32,
    "float64": torch.float64,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


def device_names() -> tuple[str, ...]:
    """Devices that this machine has, the processor first."""
    names = ["cpu"]
    if torch.cuda.is_available():
        names += [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        names.append("mps")
    return tuple(names)


def resolve_device(name: str) -> torch.device:
    """The device called `name`: cpu, cuda, cuda:N, mps, or auto (the fastest there is).

    Raises:
        DeviceError: there is no such device here.
    """
    there = device_names()
    if name == "auto":
        return torch.device(there[1] if len(there) > 1 else "cpu")
    wanted = "cuda:0" if name == "cuda" else name
    if wanted not in there:
        raise DeviceError(
            f"device {name!r} is not there; this machine has {', '.join(there)}", field="device"
        )
    return torch.device(wanted)


def resolve_dtype(name: str, device: torch.device) -> torch.dtype:
    """The number type called `name`, where `device` can compute with it.

    Raises:
        DeviceError: it is no number type of ours, or the device lacks it.
    """
    if name not in _DTYPES:
        raise DeviceError(
            f"number type {name!r} is unknown; choose {', '.join(_DTYPES)}", field="dtype"
        )
    missing = _missing_on(device)
    if name in missing:
        rest = ", ".join(known for known in _DTYPES if known not in missing)
        raise DeviceError(f"device '{device}' has no {name}; it has {rest}", field="dtype")
    return _DTYPES[name]


def _missing_on(device: torch.device) -> frozenset[str]:
    """Metal has no float64 at all; CUDA computes bfloat16 from compute capability 8.0 on."""
    if device.type == "mps":
        return frozenset({"float64"})
    if device.type == "cuda" and torch.cuda.get_device_capability(device) < (8, 0):
        return frozenset({"bfloat16"})
    return frozenset()
