"""The options of `kvscope check`."""

import argparse
from pathlib import Path

DECLARATIONS = {
    "copies": "what comes back stays as it was, and may be written to (rules 17, 18)",
    "live_views": "what comes back changes with the cache (rule 18 is not asked)",
    "whole_buffer": "whole buffers come back, for a mask to cover (rules 1, 2, 4 are not asked)",
    "broadcast": "what NumPy would stretch to fit is refused (rules 7, 8)",
}
N_RULES = 40


def add_check_options(parser: argparse.ArgumentParser) -> None:
    """The options of `kvscope check`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    listed = "\n".join(f"  {name:<14}{meaning}" for name, meaning in DECLARATIONS.items())
    parser.epilog = (
        f"what can be declared:\n{listed}\n\n"
        "The file is run, in a process of its own. The exit status is 0 (no rule is broken),\n"
        "1 (one is), 2 (the class cannot be driven) or 130 (interrupted)."
    )
    add = parser.add_argument
    add("target", metavar="FILE.py:NAME", help="the file and the class, or function, in it")
    add("--args", metavar='"max_len=8, d_k=4"', help="arguments that its constructor gets")
    add(
        "--declare",
        action="append",
        default=[],
        choices=tuple(DECLARATIONS),
        help="what the class promises (repeatable)",
    )
    add("--adapter", type=Path, metavar="FILE.py", help="run this file too: it knows the class")
    add(
        "--only",
        type=rule_number,
        action="append",
        default=[],
        metavar="RULE",
        help=f"ask this rule, 1 to {N_RULES} (repeatable; default: all)",
    )
    add("--json", action="store_true", help="the report as one line of JSON")
    add(
        "--write-tests",
        type=Path,
        metavar="FILE.py",
        help="write what is broken as a pytest file that needs nothing of kvscope",
    )


def rule_number(text: str) -> int:
    """A rule's number."""
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= N_RULES):
        raise argparse.ArgumentTypeError(f"{text!r} is no rule; they go from 1 to {N_RULES}")
    return int(text)
