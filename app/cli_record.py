"""`kvscope record`: decode with transformers, and keep what its model read and said."""

import argparse
import sys
from pathlib import Path

from app.cli_progress import Counter
from core.errors import SpecError
from core.foreign.checks import facts
from core.foreign.file import write_foreign
from core.foreign.generate import Checkpoint, load_checkpoint
from core.whole_files import check_writable

DONE = 0


def record(arguments: argparse.Namespace) -> int:
    """Decode, judge and write; the exit status.

    Raises:
        CoreError: the folder cannot be used, or the file not be written.
    """
    path: Path = arguments.trace
    if arguments.prompt == "":
        raise SpecError("--prompt '' is empty; give at least one character")
    check_writable(path)
    checkpoint = load_checkpoint(arguments.folder)
    calls = Counter("call", arguments.steps + 1)
    recording = checkpoint.record(_prompt(arguments, checkpoint), arguments.steps, calls.next)
    calls.done()
    forwards = Counter("forward without a cache", recording.n_calls + 1)
    trace = recording.trace(forwards.next)
    forwards.done()
    write_foreign(path, trace)
    n_decoded = recording.n_calls - 1
    sys.stdout.write(
        f"{path}: {len(trace.token_ids)} tokens in {recording.n_calls} calls of {trace.engine}, "
        f"{trace.dtype}\n"
    )
    if n_decoded < arguments.steps:
        sys.stdout.write(f"  the text ended after {n_decoded} of {arguments.steps} steps\n")
    for line in facts(trace):
        sys.stdout.write(f"  {line}\n")
    return DONE


def _prompt(arguments: argparse.Namespace, checkpoint: Checkpoint) -> list[int]:
    if arguments.prompt_ids is not None:
        return list(arguments.prompt_ids)
    found = checkpoint.encode(arguments.prompt)
    if not found:
        raise SpecError(
            f"--prompt {arguments.prompt!r} has no tokens by the tokenizer of {checkpoint.folder}; "
            "give --prompt-ids"
        )
    return found
