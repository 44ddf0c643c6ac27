"""How the values of the command line are read, each from its text."""

import argparse
import re
from enum import Enum

from core.spec import FaultUse

TENSORS = ("logits", "attention")
_FAULT_FORM = re.compile(
    r"(?P<id>[^@:]+)(@(?P<first>\d+)(?P<range>-(?P<last>\d+)?)?)?(:layers=(?P<layers>\d+(,\d+)*))?"
)


class FirstWrong(Enum):
    """A step that is known only once the run is judged."""

    STEP = "the first step that is wrong"


def positive_number(text: str) -> int:
    """A whole number of at least 1."""
    number = whole_number(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is below 1")
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
    form = _FAULT_FORM.fullmatch(text)
    if form is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not of the form ID, ID@FROM, ID@FROM-TO or ID@FROM-TO:layers=0,2"
        )
    layers = form["layers"]
    first, last = int(form["first"] or 0), None if form["last"] is None else int(form["last"])
    if last is not None and last < first:
        raise argparse.ArgumentTypeError(f"{text!r} ends before it begins; write @{last}-{first}")
    return FaultUse(
        id=form["id"],
        first_step=first,
        last_step=last,
        layers=None if layers is None else tuple(map(int, layers.split(","))),
    )
