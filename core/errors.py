"""What can go wrong through a user's choice; each message names the value and what would do."""


class CoreError(Exception):
    """A choice or a file that cannot be used. The message is one line, fit to be shown as it is."""


class SettingError(CoreError):
    """A setting of a run.

    Attributes:
        field: the `RunSpec` field that it is about; None: no single one.
    """

    def __init__(self, message: str, *, field: str | None = None) -> None:
        """Take the message, and the field where there is one."""
        super().__init__(message)
        self.field = field


class SpecError(SettingError):
    """A setting of a run that cannot be used, or two that do not go together."""


class ModelError(CoreError):
    """A model name or folder that cannot be loaded."""


class DeviceError(SettingError):
    """A device or number type that this machine does not have."""


class FaultError(CoreError):
    """An unknown fault, or faults that cannot be combined."""


class TraceError(CoreError):
    """A file that is no trace, or one that is damaged."""


class ForeignTraceError(TraceError):
    """A trace of another engine, where one of our own runs is asked for."""


class LessonError(CoreError):
    """A lesson that lacks a part, or a link in it that leads nowhere."""
