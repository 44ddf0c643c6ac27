"""The options of `kvscope record` and `kvscope validate`."""

import argparse

from app.cli_shared_options import add_prompt_options, add_reference_option
from app.cli_values import file_path, step_number


def add_record_options(parser: argparse.ArgumentParser) -> None:
    """The options of `kvscope record`."""
    parser.epilog = (
        "Needs transformers. Decodes greedily; each call is judged by the model's own forward "
        "without a cache. To record a loop of your own: core/README.md, Traces from elsewhere."
    )
    add = parser.add_argument
    add("folder", type=file_path, metavar="FOLDER", help="a checkpoint that transformers can read")
    add_prompt_options(parser, required=True)
    add("--steps", type=step_number, default=24, metavar="N", help="decode steps (default: 24)")
    add("--trace", type=file_path, required=True, metavar="FILE", help="the .kvtrace to write")


def add_validate_options(parser: argparse.ArgumentParser) -> None:
    """The options of `kvscope validate`."""
    parser.epilog = (
        "The exit status is 0 (well formed), 1 (its parts do not fit together, or --reference "
        "finds its logits wrong) or 2 (it cannot be read)."
    )
    parser.add_argument("file", type=file_path, metavar="FILE", help="a .kvtrace, of any engine")
    add_reference_option(
        parser, "judge the logits of another engine by this checkpoint without a cache"
    )
