"""The options of `kvscope check`."""

import argparse

from app.cli_shared_options import add_reference_option
from app.cli_values import file_path, positive_number, token_ids

KINDS = ("class", "model")
DECLARATIONS = {
    "copies": "what comes back stays as it was, and may be written to (rules 17, 18)",
    "live_views": "what comes back changes with the cache (rule 18 is not asked)",
    "whole_buffer": "whole buffers come back, for a mask to cover (rules 1, 2, 4 are not asked)",
    "broadcast": "what NumPy would stretch to fit is refused (rules 7, 8)",
}
N_RULES = 40
OF_ONE_KIND = {
    "args": "class",
    "declare": "class",
    "only": "class",
    "write_tests": "class",
    "vocab": "model",
    "prompt_ids": "model",
    "steps": "model",
    "reference": "model",
}
"""Options that are about a class alone, or a model alone; they have no default but None."""


def add_check_options(parser: argparse.ArgumentParser) -> None:
    """The options of `kvscope check`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    listed = "\n".join(f"  {name:<14}{meaning}" for name, meaning in DECLARATIONS.items())
    parser.epilog = (
        f"what can be declared:\n{listed}\n\n"
        "The file is run, in a process of its own. The exit status is 0 (nothing is wrong),\n"
        "1 (something is), 2 (the class or model cannot be driven) or 130 (interrupted)."
    )
    add = parser.add_argument
    add(
        "target",
        metavar="FILE.py:NAME",
        help="the file, and what it calls the class, or the function that makes the model",
    )
    add("--kind", choices=KINDS, default=KINDS[0], help="what it is (default: class)")
    add(
        "--adapter",
        type=file_path,
        metavar="FILE.py",
        help="run this file too: it knows how to ask",
    )
    add("--json", action="store_true", help="the report as one line of JSON")
    _add_class_options(parser.add_argument_group("of a class"))
    _add_model_options(parser.add_argument_group("of a model"))


def option_of_another_kind(arguments: argparse.Namespace) -> str | None:
    """The first option that was given and says nothing of this kind; None: there is none."""
    given = (name for name in OF_ONE_KIND if getattr(arguments, name) is not None)
    other = (name for name in given if OF_ONE_KIND[name] != arguments.kind)
    return next((f"--{name.replace('_', '-')}" for name in other), None)


def _add_class_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--args", metavar='"max_len=8, d_k=4"', help="arguments that its constructor gets")
    add(
        "--declare",
        action="append",
        choices=tuple(DECLARATIONS),
        help="what the class promises (repeatable)",
    )
    add(
        "--only",
        type=rule_number,
        action="append",
        metavar="RULE",
        help=f"ask this rule, 1 to {N_RULES} (repeatable; default: all)",
    )
    add(
        "--write-tests",
        type=file_path,
        metavar="FILE.py",
        help="write what is broken as a pytest file that needs nothing of kvscope",
    )


def _add_model_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--vocab",
        type=positive_number,
        metavar="N",
        help="token ids that it knows (default: as its configuration or its embedding says)",
    )
    add(
        "--prompt-ids",
        type=token_ids,
        metavar="1,2,3",
        help="its prompt (default: 5 random tokens)",
    )
    add("--steps", type=positive_number, metavar="N", help="tokens that it decodes (default: 8)")
    add_reference_option(group, "a checkpoint that it must equal without a cache")


def rule_number(text: str) -> int:
    """A rule's number."""
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= N_RULES):
        raise argparse.ArgumentTypeError(f"{text!r} is no rule; they go from 1 to {N_RULES}")
    return int(text)
