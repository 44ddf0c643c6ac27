"""Where a run was made: the same place gives the same bits."""

import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_CPU_INFO = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class Versions:
    """Programs and machine; each as it names itself.

    Attributes:
        kvscope: this program; "unknown" if it runs without being installed.
        python: the interpreter.
        numpy: the library.
        torch: the library.
        system: operating system and architecture.
        processor: what computed: the processor's or the graphics card's model.
    """

    kvscope: str
    python: str
    numpy: str
    torch: str
    system: str
    processor: str


def versions_here(device: str) -> Versions:
    """Those of this machine, where a run computes on `device`."""
    return Versions(
        kvscope=_version("kvscope"),
        python=platform.python_version(),
        numpy=_version("numpy"),
        torch=_version("torch"),
        system=f"{platform.system()} {platform.machine()}",
        processor=_graphics_card(device) if device.startswith("cuda") else _processor(),
    )


def _version(distribution: str) -> str:
    from importlib import metadata  # here, since a file is read without it

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"


def _graphics_card(device: str) -> str:
    import torch  # here, since a run on the processor is saved and opened without it

    return torch.cuda.get_device_name(device)


@cache
def _processor() -> str:
    """The model's name; Linux tells it in a file only."""
    if _CPU_INFO.is_file():
        for line in _CPU_INFO.read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
