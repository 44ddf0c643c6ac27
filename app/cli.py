"""The commands that need no window.

This file reads the arguments and turns whatever goes wrong into one line and an exit status.
torch is imported by the commands that compute, once the arguments are known to be good.
"""

import argparse
import io
import sys
from collections.abc import Callable, Sequence

from app.cli_check_options import add_check_options
from app.cli_elsewhere_options import add_record_options, add_validate_options
from app.cli_options import (
    add_battery_options,
    add_compare_options,
    add_export_options,
    add_faults_options,
    add_lesson_options,
    add_matrix_options,
    add_run_options,
)
from app.commands import COMMANDS
from app.options import OneLineParser
from app.standard_streams import INTERRUPTED, UNUSABLE, complain, keep_others_out, with_output
from core.errors import CoreError

DONE = 0
_TOO_MUCH = (
    "the memory does not suffice; choose --chunk, a shorter prompt, a smaller --capacity or fewer "
    "--steps"
)


def main(argv: Sequence[str]) -> int:
    """Carry a command out.

    Args:
        argv: the command and its options, without the program's name.

    Returns:
        The exit status: 0 done, 1 a check failed, 2 unusable input, 130 interrupted.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may lack letters
    return with_output(lambda: _status(argv))


def _status(argv: Sequence[str]) -> int:
    try:
        arguments = _arguments(argv)
        if getattr(arguments, "fault_file", ()):
            keep_others_out()  # these files are run, and may write anywhere
        status: int = arguments.command(arguments)
    except SystemExit as leaving:  # --help, or an argument that cannot be used
        return int(leaving.code or DONE)
    except CoreError as error:
        complain(str(error))
        return UNUSABLE
    except (MemoryError, RuntimeError) as error:
        if not _is_about_memory(error):
            raise
        complain(_TOO_MUCH)
        return UNUSABLE
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    return status


def _is_about_memory(error: MemoryError | RuntimeError) -> bool:
    """Whether memory ran out; torch has no class of its own for that on the processor."""
    said = str(error)
    return isinstance(error, MemoryError) or "allocate memory" in said or "out of memory" in said


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    arguments, unknown = _parser().parse_known_args(argv)
    if unknown:  # the command's own parser says so: its help lists what there is
        arguments.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    return arguments


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(prog="kvscope", allow_abbrev=False)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        own = commands.add_parser(
            command.name, help=command.help, description=command.description, allow_abbrev=False
        )
        add_options, carry_out = _PARTS[command.name]
        add_options(own)
        own.set_defaults(command=carry_out, parser=own)
    return parser


def _run(arguments: argparse.Namespace) -> int:
    from app.cli_run import run

    return run(arguments)


def _faults(arguments: argparse.Namespace) -> int:
    from app.cli_faults import faults

    return faults(as_json=arguments.json, files=arguments.fault_file)


def _export(arguments: argparse.Namespace) -> int:
    from app.cli_traces import export

    return export(arguments)


def _compare(arguments: argparse.Namespace) -> int:
    from app.cli_traces import compare

    return compare(arguments)


def _battery(arguments: argparse.Namespace) -> int:
    from app.cli_battery import battery

    return battery(arguments)


def _matrix(arguments: argparse.Namespace) -> int:
    from app.cli_matrix import matrix

    return matrix(arguments)


def _lesson(arguments: argparse.Namespace) -> int:
    from app.cli_lesson import lesson

    return lesson(arguments)


def _check(arguments: argparse.Namespace) -> int:
    from app.cli_check import check_own

    return check_own(arguments)


def _record(arguments: argparse.Namespace) -> int:
    from app.cli_record import record

    return record(arguments)


def _validate(arguments: argparse.Namespace) -> int:
    from app.cli_validate import validate

    return validate(arguments)


_PARTS: dict[str, tuple[Callable[[argparse.ArgumentParser], None], Callable[..., int]]] = {
    "run": (add_run_options, _run),
    "faults": (add_faults_options, _faults),
    "export": (add_export_options, _export),
    "compare": (add_compare_options, _compare),
    "battery": (add_battery_options, _battery),
    "matrix": (add_matrix_options, _matrix),
    "lesson": (add_lesson_options, _lesson),
    "record": (add_record_options, _record),
    "validate": (add_validate_options, _validate),
    "check": (add_check_options, _check),
}
"""The options of each command, and what carries it out."""
