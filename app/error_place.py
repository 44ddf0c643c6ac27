"""Which field of the form an error is about, so that its text can stand beside it."""

from core.errors import CoreError, FaultError, ModelError, SettingError

_PLACES = {
    "model": "model",
    "prompt_ids": "prompt",
    "policy": "policy",
    "capacity": "capacity",
    "sinks": "sinks",
    "reassign_positions": "sinks",
    "chunk": "chunk",
    "temperature": "temperature",
    "seed": "seed",
    "device": "device",
    "dtype": "dtype",
}
"""Field of a run specification to field of the form; the form does not have the others."""


def place_of(error: CoreError) -> str | None:
    """The field's name; None where no single field is at fault."""
    match error:
        case FaultError():
            return "faults"
        case ModelError():
            return "model"
        case SettingError(field=str(field)):
            return _PLACES.get(field)
        case _:
            return None
