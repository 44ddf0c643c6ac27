"""Where a person finds what a verdict names: the dock that shows it, and the row of Spread."""

from dataclasses import dataclass

from core.verdict import Difference


@dataclass(frozen=True, slots=True)
class Place:
    """A field of a record, for a person who looks for it.

    Attributes:
        dock: title of the dock that shows it.
        stage: its row in Spread; None: that of its layer.
        meaning: what the field is.
    """

    dock: str
    stage: str | None
    meaning: str


PLACES: dict[str, Place] = {
    "outcome": Place("Cache", "admission", "how the step ended: let in, or refused"),
    "length": Place("Cache", "admission", "slots that hold a row now, as the cache tells it"),
    "seen": Place("Cache", "admission", "tokens of the text that were read so far"),
    "position_ids": Place("Cache", "positions", "numbers given to the position encoding"),
    "slots": Place("Cache", "slots", "where the new rows went"),
    "readable": Place("Mask", "mask", "token indices that the policy lets a query see"),
    "visible": Place("Mask", "mask", "token indices that mask and read really let a query see"),
    "keys": Place("Cache", None, "the keys that came back from the buffer"),
    "values": Place("Cache", None, "the values that came back from the buffer"),
    "rotated_keys": Place("Inspector", None, "the keys as the queries used them"),
    "scores": Place("Attention", None, "the attention scores"),
    "weights": Place("Attention", None, "the attention weights"),
    "output": Place("Inspector", None, "the output of the attention"),
    "residual": Place("Inspector", None, "the output of the layer"),
    "logits": Place("Next token", "logits", "one number for each token that may come next"),
    "contents": Place("Cache", "contents", "the tokens that are held once the step is over"),
}


def place_words(difference: Difference) -> str:
    """The field, its dock, layer and head: "visible (Mask), layer 0"."""
    places = [f"{_name(difference)} ({PLACES[difference.field].dock})"]
    if difference.layer is not None:
        places.append(f"layer {difference.layer}")
    if difference.head is not None:
        places.append(f"head {difference.head}")
    return ", ".join(places)


def place_account(difference: Difference) -> str:
    """What the field is, and both places where it is seen."""
    place = PLACES[difference.field]
    stage = f"layer {difference.layer}" if place.stage is None else place.stage
    where = f"Seen in the dock {place.dock}, and in the row ‘{stage}’ of Spread"
    return f"{_name(difference)}: {place.meaning}. {where}"


def _name(difference: Difference) -> str:
    return difference.field.replace("_", " ")
