"""Which field of the form an error is about, so that its text can stand beside it."""

from core.errors import CoreError, DeviceError, FaultError, ModelError, SpecError

_WORDS = (
    ("policy '", "policy"),
    ("prompt", "prompt"),
    ("token id", "prompt"),
    ("surrogate", "prompt"),
    ("re-assigned", "sinks"),
    ("sinks", "sinks"),
    ("capacity", "capacity"),
    ("chunk", "chunk"),
    ("temperature", "temperature"),
    ("seed", "seed"),
    ("dtype", "dtype"),
)
"""A word of the message, and the field it points to; the first that occurs decides."""


def place_of(error: CoreError) -> str | None:
    """The field's name; None where no single field is at fault."""
    message = str(error)
    if isinstance(error, FaultError):
        return "faults"
    if isinstance(error, ModelError):
        return "model"
    if isinstance(error, DeviceError):
        return "dtype" if _is_about_number_type(message) else "device"
    if isinstance(error, SpecError):
        return next((place for word, place in _WORDS if word in message), None)
    return None


def _is_about_number_type(message: str) -> bool:
    return message.startswith("number type") or " has no " in message
