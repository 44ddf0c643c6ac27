"""Hands a command line over to a sub-command or to the window.

Neither Qt nor torch is imported here, so that help, version and a wrong argument answer at once.
"""

import argparse
import sys
from pathlib import Path

from app.commands import COMMANDS
from app.interruptions import heard_as_ctrl_c
from app.options import WindowOptions, versions, window_arguments
from app.standard_streams import with_output


def start(arguments: list[str]) -> int:
    """The exit status of what the arguments ask for."""
    is_command = bool(arguments) and arguments[0] in {command.name for command in COMMANDS}
    return _command(arguments) if is_command else _window(arguments)


def _command(arguments: list[str]) -> int:
    from app import cli

    with heard_as_ctrl_c():
        return cli.main(arguments)


def _window(arguments: list[str]) -> int:
    parsed = window_arguments(arguments)
    if parsed.info:
        return with_output(_info)
    from app.plain_imports import take_hook_off

    take_hook_off()  # before all that is imported for the window
    from app import window

    return window.main(_options(parsed))


def _info() -> int:
    sys.stdout.write(f"{versions()}\n")
    return 0


def _options(parsed: argparse.Namespace) -> WindowOptions:
    return WindowOptions(
        file=None if parsed.file is None else Path(parsed.file),
        faults=tuple(parsed.fault),
        fault_files=tuple(parsed.fault_file),
        step=parsed.step,
        theme=parsed.theme,
        layout=parsed.layout,
        reset_layout=parsed.reset_layout,
        reset_settings=parsed.reset_settings,
    )
