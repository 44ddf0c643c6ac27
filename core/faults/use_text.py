"""A fault that is switched on, as text: `ID[@FROM[-TO]][:layers=0,2]`."""

import re

from core.errors import FaultError
from core.spec import FaultUse

_FORM = re.compile(
    r"(?P<id>[^@:]+)(@(?P<first>\d{1,9})(?P<range>-(?P<last>\d{1,9})?)?)?"
    r"(:layers=(?P<layers>\d{1,9}(,\d{1,9})*))?"
)


def use_of(text: str) -> FaultUse:
    """The use that a text names; whether there is such a fault is not asked.

    Raises:
        FaultError: the text is of another form, its steps end before they begin, or it names a
            layer twice.
    """
    form = _FORM.fullmatch(text)
    if form is None:
        raise FaultError(
            f"{text!r} is not of the form ID, ID@FROM, ID@FROM-TO or ID@FROM-TO:layers=0,2"
        )
    layers = form["layers"]
    first, last = int(form["first"] or 0), None if form["last"] is None else int(form["last"])
    if last is not None and last < first:
        raise FaultError(f"{text!r} ends before it begins; write @{last}-{first}")
    return FaultUse(
        id=form["id"],
        first_step=first,
        last_step=last,
        layers=None if layers is None else tuple(map(int, layers.split(","))),
    )


def text_of(use: FaultUse) -> str:
    """The text that `use_of` reads as this use, its file aside."""
    steps = "" if use.first_step == 0 and use.last_step is None else f"@{use.first_step}"
    steps += "" if use.last_step is None else f"-{use.last_step}"
    layers = "" if use.layers is None else f":layers={','.join(map(str, use.layers))}"
    return f"{use.id}{steps}{layers}"
