"""Where `kvscope` starts: it hands over to a sub-command or to the window.

Neither Qt nor torch is imported here, so that help, version and a wrong argument answer at once.
"""

import argparse
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from app.commands import COMMANDS
from app.options import WindowOptions, versions, window_arguments
from app.standard_streams import with_output

INTERNAL_ERROR = 3
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run what the command line asks for.

    Args:
        argv: arguments without the program's name; None takes those of the process.

    Returns:
        The exit status: 0 done, 1 a check failed, 2 unusable input, 3 internal error,
        130 interrupted.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    is_command = bool(arguments) and arguments[0] in {command.name for command in COMMANDS}
    start = _command if is_command else _window
    return _guarded(start, arguments)


def _guarded(start: Callable[[list[str]], int], arguments: list[str]) -> int:
    try:
        return start(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception:  # noqa: BLE001  (an error of ours has a status of its own, 3)
        traceback.print_exc()
        return INTERNAL_ERROR


def _command(arguments: list[str]) -> int:
    from app import cli

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
    print(versions())
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


if __name__ == "__main__":
    sys.exit(main())
