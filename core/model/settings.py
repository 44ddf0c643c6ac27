"""Typed reading of a config.json, with one clear line for whatever is wrong in it."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from core.errors import ModelError


class Settings:
    """The keys and values of one JSON object of a file."""

    def __init__(self, file: Path, values: Mapping[str, object]) -> None:
        """Takes the file, for messages, and what it holds."""
        self.file = file
        self._values = values

    @classmethod
    def read(cls, file: Path) -> "Settings":
        """Reads a file.

        Raises:
            ModelError: it is not there, no JSON, or no object.
        """
        try:
            values: object = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise ModelError(
                f"{file.parent}: has no {file.name}; choose the folder of a checkpoint"
            ) from error
        except OSError as error:
            raise ModelError(f"{file}: cannot be read ({error.strerror})") from error
        except (ValueError, RecursionError) as error:
            raise ModelError(f"{file}: is no JSON ({error}); fetch it again") from error
        if not isinstance(values, dict):
            raise ModelError(f"{file}: holds a {type(values).__name__}, not an object of settings")
        return cls(file, cast("dict[str, object]", values))

    def get(self, key: str) -> object:
        """The value as it is; None where it is absent or null."""
        return self._values.get(key)

    def size(self, key: str, default: int | None = None) -> int:
        """A whole number of at least 1; a key without a default must be there."""
        value = self._given(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self._wrong(key, value, "a whole number of at least 1")
        return value

    def number(self, key: str, default: float) -> float:
        """A finite number."""
        value = self._given(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong(key, value, "a number")
        if not abs(value) <= sys.float_info.max:
            raise self._wrong(key, value, "a finite number")
        return float(value)

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false."""
        value = self._given(key, default)
        if not isinstance(value, bool):
            raise self._wrong(key, value, "true or false")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """A string."""
        value = self._given(key, default)
        if not isinstance(value, str):
            raise self._wrong(key, value, "a text")
        return value

    def nested(self, key: str) -> "Settings":
        """An object inside; empty where it is absent or null."""
        value = self._values.get(key)
        if value is None:
            return Settings(self.file, {})
        if not isinstance(value, dict):
            raise self._wrong(key, value, "an object")
        return Settings(self.file, cast("dict[str, object]", value))

    def require(self, supported: Mapping[str, tuple[object, ...]]) -> None:
        """Checks that every key that is there has one of the values that are supported.

        Raises:
            ModelError: names the first key with another value and what it may be.
        """
        for key, values in supported.items():
            value = self._values.get(key)
            if value is not None and value not in values:
                choices = " or ".join(json.dumps(choice) for choice in values) or "null"
                raise ModelError(
                    f"{self.file}: {key} is {json.dumps(value)}, which is not supported; "
                    f"only {choices} is"
                )

    def _given(self, key: str, default: object) -> object:
        value = self._values.get(key)
        if value is None:
            value = default
        if value is None:
            raise ModelError(f"{self.file}: has no {key}; it must be a complete checkpoint config")
        return value

    def _wrong(self, key: str, value: object, expected: str) -> ModelError:
        return ModelError(f"{self.file}: {key} is {json.dumps(value)}; expected {expected}")
