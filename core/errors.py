"""What can go wrong through a user's choice; each message names the value and what would do."""


class CoreError(Exception):
    """A choice or a file that cannot be used. The message is one line, fit to be shown as it is."""


class SpecError(CoreError):
    """A setting of a run that cannot be used, or two that do not go together."""


class ModelError(CoreError):
    """A model name or folder that cannot be loaded."""


class DeviceError(CoreError):
    """A device or number type that this machine does not have."""


class FaultError(CoreError):
    """An unknown fault, or faults that cannot be combined."""


class TraceError(CoreError):
    """A file that is no trace, or one that is damaged."""
