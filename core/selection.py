"""What a person looks at: one value that every view takes and gives."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Selection:
    """A step, and within it a token, slot, position, layer or head; None: nothing chosen.

    The same token, slot and position id are three different numbers: all are kept.
    """

    step: int = 0
    layer: int = 0
    head: int = 0
    token_index: int | None = None
    slot: int | None = None
    position_id: int | None = None
