"""What the command line can ask of the window, and the text of its help."""

import argparse
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

from app import __version__
from app.commands import COMMANDS

COMMANDS_HELP = "\n".join(
    (
        "commands without a window (each has its own --help):",
        *(f"  {command.name:<10}{command.help}" for command in COMMANDS),
    )
)
LIBRARIES = ("PySide6-Essentials", "numpy", "pyqtgraph", "safetensors", "tokenizers", "torch")


@dataclass(frozen=True, slots=True)
class WindowOptions:
    """What a person asked the window to show first.

    Attributes:
        file: a trace to open, or None.
        faults: ids of the faults to switch on, in the order given.
        fault_files: files of Python to run for the faults in them.
        step: the step to look at, counted from 0, or None for the newest.
        theme: the theme to show and remember, or None for the one remembered.
        layout: the layout to show and remember, or None for the one remembered.
        reset_layout: arrange the panels as at the first start.
        reset_settings: forget everything that is remembered.
    """

    file: Path | None = None
    faults: tuple[str, ...] = ()
    fault_files: tuple[Path, ...] = ()
    step: int | None = None
    theme: Literal["light", "dark", "system"] | None = None
    layout: Literal["debug", "teach"] | None = None
    reset_layout: bool = False
    reset_settings: bool = False


class OneLineParser(argparse.ArgumentParser):
    """Answers an unusable argument in one line and with status 2, without the usage before it."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and leave."""
        if message.endswith("expected one argument"):
            message += "; a value that begins with - is written --option=VALUE"
        line = " ".join(message.removeprefix("argument ").split())
        self.exit(2, f"kvscope: {line} (see {self.prog} --help)\n")


def window_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """What a command line that opens the window says; leaves with status 2 where it is unusable."""
    parser = window_parser()
    parsed, unknown = parser.parse_known_args(arguments)
    is_file_first = arguments[:1] == [parsed.file]
    if unknown and not is_file_first:  # what follows an unknown option may be its value, no file
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if parsed.file is not None and not Path(parsed.file).is_file():
        parser.error(f"FILE: there is no file {parsed.file!r}, nor a command of that name")
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    return parsed


def window_parser() -> argparse.ArgumentParser:
    """Parser of a command line that opens the window."""
    parser = OneLineParser(
        prog="kvscope",
        description="Step through the decoding loop of a GPT and see what its KV cache holds.",
        epilog=COMMANDS_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="a .kvtrace")
    parser.add_argument(
        "--fault", action="append", default=[], metavar="ID", help="switch a fault on (repeatable)"
    )
    parser.add_argument(
        "--fault-file",
        type=Path,
        action="append",
        default=[],
        metavar="FILE.py",
        help="run this file of Python and switch its faults on (repeatable)",
    )
    parser.add_argument("--step", type=_step_number, metavar="N", help="show step N (from 0)")
    parser.add_argument("--theme", choices=("light", "dark", "system"), help="colours to show")
    parser.add_argument(
        "--layout", choices=("debug", "teach"), help="every panel, or few in large letters"
    )
    parser.add_argument(
        "--reset-layout", action="store_true", help="arrange the panels as at the first start"
    )
    parser.add_argument(
        "--reset-settings", action="store_true", help="forget everything that is remembered"
    )
    parser.add_argument("--info", action="store_true", help="print versions and leave")
    parser.add_argument("--version", action="version", version=f"kvscope {__version__}")
    return parser


def versions() -> str:
    """One line each for kvscope, Python, the system and every library, from their metadata."""
    lines = [
        f"kvscope {__version__}",
        f"Python {platform.python_version()}",
        f"system {platform.platform()}",
    ]
    return "\n".join([*lines, *(f"{name} {_version_of(name)}" for name in LIBRARIES)])


def _version_of(distribution: str) -> str:
    from importlib import metadata  # here, since it takes 15 ms that every start would wait for

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


def _step_number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a step is a whole number from 0 on, not {text!r}")
    return int(text)
