"""The options of `kvscope record` and `kvscope validate`."""

import argparse
from pathlib import Path

from app.cli_values import step_number, token_ids


def add_record_options(parser: argparse.ArgumentParser) -> None:
    """The options of `kvscope record`."""
    parser.epilog = (
        "Needs transformers. Decodes greedily; each call is judged by the model's own forward "
        "without a cache. To record a loop of your own: core/README.md, Traces from elsewhere."
    )
    add = parser.add_argument
    add("folder", type=Path, metavar="FOLDER", help="a checkpoint that transformers can read")
    prompt = parser.add_mutually_exclusive_group(required=True)
    prompt.add_argument("--prompt", metavar="TEXT", help="the text to go on from")
    prompt.add_argument(
        "--prompt-ids", type=token_ids, metavar="1,2,3", help="the same as token ids"
    )
    add("--steps", type=step_number, default=24, metavar="N", help="decode steps (default: 24)")
    add("--trace", type=Path, required=True, metavar="FILE", help="the .kvtrace to write")


def add_validate_options(parser: argparse.ArgumentParser) -> None:
    """The options of `kvscope validate`."""
    parser.epilog = (
        "The exit status is 0 (well formed), 1 (its parts do not fit together, or --reference "
        "finds its logits wrong) or 2 (it cannot be read)."
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a .kvtrace, of any engine")
    parser.add_argument(
        "--reference",
        type=Path,
        metavar="FOLDER",
        help="judge the logits of another engine by this checkpoint without a cache",
    )
