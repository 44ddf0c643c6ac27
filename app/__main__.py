"""Where `kvscope` starts.

Nothing else is imported before `main` is called: until then Ctrl+C is a traceback.
"""

import sys

INTERNAL_ERROR = 3
INTERRUPTED = 130


def main(argv: list[str] | tuple[str, ...] | None = None) -> int:
    """Run what the command line asks for.

    Args:
        argv: arguments without the program's name; None takes those of the process.

    Returns:
        The exit status: 0 done, 1 a check failed, 2 unusable input, 3 internal error,
        130 interrupted.
    """
    try:
        from app.start import start

        return start(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception:  # noqa: BLE001  (an error of ours has a status of its own, 3)
        import traceback

        traceback.print_exc()
        return INTERNAL_ERROR


if __name__ == "__main__":
    sys.exit(main())
