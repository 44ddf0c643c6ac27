"""How a class is made with the sizes that a test wants."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

import inspect
from typing import Any

from .names import WINDOWS, parameter_roles


class NotDrivableError(Exception):
    """The class cannot be driven; the message says what is missing, by name."""


class Constructor:
    """The arguments of a class or function that makes a cache.

    Attributes:
        roles: argument -> the sizes it stands for.
        fixed: sizes that the given arguments settle.
    """

    def __init__(self, cls: Any, given: dict[str, Any]) -> None:
        """Read its signature; arguments given by hand are passed on as they are."""
        self._cls = cls
        self._given = given
        parameters = _parameters(cls)
        unknown = [name for name in given if name not in parameters]
        if unknown and not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            known = ", ".join(parameters) or "none"
            raise NotDrivableError(
                f"--args names {unknown[0]!r}, which {_name(cls)} does not take ({known})"
            )
        self.roles = {name: parameter_roles(name) for name in parameters}
        missing = [
            name
            for name, parameter in parameters.items()
            if parameter.default is parameter.empty
            and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
            and not self.roles[name]
            and name not in given
        ]
        if missing:
            names = ", ".join(missing)
            raise NotDrivableError(
                f'cannot guess {names} of {_name(cls)}: give --args "{missing[0]}=…"'
            )
        self.fixed = {
            role: given[name]
            for name, roles in self.roles.items()
            if name in given
            for role in roles
            if role in ("d_k", "d_v", "n_heads", "batch", "dtype")
        }

    def has(self, role: str) -> bool:
        """Whether an argument stands for this size."""
        return any(role in roles for roles in self.roles.values())

    @property
    def names_a_window(self) -> bool:
        """Whether the capacity is called a window."""
        return any(name.lower() in WINDOWS for name in self.roles)

    def make(self, sizes: dict[str, Any]) -> Any:
        """The cache with these sizes."""
        arguments = dict(self._given)
        for name, roles in self.roles.items():
            for role in roles:
                if role in sizes and sizes[role] is not None:
                    arguments[name] = sizes[role]
                    break
        return self._cls(**arguments)


def _parameters(cls: Any) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(cls).parameters)
    except (TypeError, ValueError):
        return {}


def _name(cls: Any) -> str:
    return getattr(cls, "__name__", str(cls))
