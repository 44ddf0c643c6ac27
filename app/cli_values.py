"""How the values of the command line are read, each from its text."""

import argparse
import re
from enum import Enum
from pathlib import Path

from core.errors import FaultError
from core.faults.use_text import use_of
from core.spec import FaultUse

TENSORS = ("logits", "attention")


class FirstWrong(Enum):
    """A step that is known only once the run is judged."""

    STEP = "the first step that is wrong"


def file_path(text: str) -> Path:
    """Where a file or a folder is; whether it is there is not asked."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty; give the path of a file")
    return Path(text)


def positive_number(text: str) -> int:
    """A whole number of at least 1."""
    number = whole_number(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is below 1; give 1 or more")
    return number


def step_number(text: str) -> int:
    """A whole number of at least 0."""
    number = whole_number(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is below 0, the first step")
    return number


def whole_number(text: str) -> int:
    """A whole number; its range is checked where its meaning is known."""
    if not re.fullmatch(r"[+-]?\d{1,18}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number (of up to 18 digits)")
    return int(text)


def token_ids(text: str) -> tuple[int, ...]:
    """Token ids, separated by commas."""
    if not re.fullmatch(r"\s*\d{1,18}\s*(,\s*\d{1,18}\s*)*", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of token ids such as 1,2,3")
    return tuple(map(int, text.split(",")))


def tensor_names(text: str) -> tuple[str, ...]:
    """Names of what can be exported."""
    names = tuple(text.split(","))
    for name in names:
        if name not in TENSORS:
            raise argparse.ArgumentTypeError(f"{name!r} is not known; choose {','.join(TENSORS)}")
    return names


def fault_use(text: str) -> FaultUse:
    """A fault with its steps (both included) and layers; whether there is one is not asked."""
    try:
        return use_of(text)
    except FaultError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
