"""The commands that need no window.

This file reads the arguments and turns whatever goes wrong into one line and an exit status.
torch is imported by the commands that compute, once the arguments are known to be good.
"""

import argparse
import io
import sys
from collections.abc import Sequence

from app.cli_check_options import add_check_options
from app.cli_elsewhere_options import add_record_options, add_validate_options
from app.cli_options import (
    add_battery_options,
    add_export_options,
    add_fault_files,
    add_lesson_options,
    add_matrix_options,
    add_run_options,
)
from app.options import OneLineParser
from app.standard_streams import INTERRUPTED, UNUSABLE, complain, with_output
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
    run = commands.add_parser(
        "run",
        help="decode, and judge every step",
        description="Decode without a window, and judge every step.",
        allow_abbrev=False,
    )
    add_run_options(run)
    run.set_defaults(command=_run, parser=run)
    faults = commands.add_parser(
        "faults",
        help="list the faults",
        description="List every fault: id, title, seam, tier, and the scenario that shows it.",
        allow_abbrev=False,
    )
    faults.add_argument("--json", action="store_true", help="JSON Lines")
    add_fault_files(faults, "list its faults too")
    faults.set_defaults(command=_faults, parser=faults)
    export = commands.add_parser(
        "export",
        help="write logits and attention of a trace",
        description="Write numbers of a trace as a NumPy .npz file of plain arrays.",
        allow_abbrev=False,
    )
    add_export_options(export)
    export.set_defaults(command=_export, parser=export)
    compare = commands.add_parser(
        "compare",
        help="find where two traces first differ",
        description="Find the first step, layer, head and field in which two traces differ.",
        allow_abbrev=False,
    )
    compare.add_argument("a", metavar="A", help="a .kvtrace")
    compare.add_argument("b", metavar="B", help="another one")
    compare.add_argument("--check", action="store_true", help="exit status 1 if they differ")
    add_fault_files(compare, "use its faults where a trace names them")
    compare.set_defaults(command=_compare, parser=compare)
    battery = commands.add_parser(
        "battery",
        help="check properties of the cache that need no reference",
        description="Check properties that a right cache has, by comparing runs with each other.",
        allow_abbrev=False,
    )
    add_battery_options(battery)
    battery.set_defaults(command=_battery, parser=battery)
    matrix = commands.add_parser(
        "matrix",
        help="every fault, scheme and policy, with many prompts",
        description="Measure what each fault does under each position scheme and policy.",
        allow_abbrev=False,
    )
    add_matrix_options(matrix)
    matrix.set_defaults(command=_matrix, parser=matrix)
    lesson = commands.add_parser(
        "lesson",
        help="print the lesson of a fault",
        description="Print the lesson of a fault: a question and its answers.",
        allow_abbrev=False,
    )
    add_lesson_options(lesson)
    lesson.set_defaults(command=_lesson, parser=lesson)
    check = commands.add_parser(
        "check",
        help="find what is wrong in a cache class, or a model, of your own",
        description="Drive somebody's KV cache class, or model, and say what is wrong with it.",
        allow_abbrev=False,
    )
    add_check_options(check)
    check.set_defaults(command=_check, parser=check)
    record = commands.add_parser(
        "record",
        help="decode with transformers, and keep what its model read and said",
        description="Record a decoding of a checkpoint by transformers, and judge every call.",
        allow_abbrev=False,
    )
    add_record_options(record)
    record.set_defaults(command=_record, parser=record)
    validate = commands.add_parser(
        "validate",
        help="is a trace well formed, and what does it tell",
        description="Say whether a .kvtrace of any engine is well formed, and what is in it.",
        allow_abbrev=False,
    )
    add_validate_options(validate)
    validate.set_defaults(command=_validate, parser=validate)
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
