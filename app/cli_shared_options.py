"""Options that several commands have."""

import argparse

from app.cli_values import file_path, token_ids


def add_prompt_options(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """What a run begins with: a text, or token ids."""
    prompt = parser.add_mutually_exclusive_group(required=required)
    prompt.add_argument("--prompt", metavar="TEXT", help="the text to go on from")
    prompt.add_argument(
        "--prompt-ids", type=token_ids, metavar="1,2,3", help="the same as token ids"
    )


def add_reference_option(parser: argparse._ActionsContainer, use: str) -> None:
    """A checkpoint to be compared with; `use` says what becomes of it."""
    parser.add_argument("--reference", type=file_path, metavar="FOLDER", help=use)
