"""Runs the user's files, and finds in them what is asked for."""
# The user's objects have no type that is known.
# pyright: basic

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from .constructor import NotDrivableError
from .raised import words


def loaded(path: str, name: str) -> Any:
    """What the file calls by this name.

    Raises:
        NotDrivableError: there is no such file or name, or running the file fails.
    """
    module = _module(path, "the_file_under_test")
    if not hasattr(module, name):
        public = [n for n, thing in vars(module).items() if isinstance(thing, type) and n[0] != "_"]
        raise NotDrivableError(f"{path} has no {name!r}; it has {', '.join(public) or 'no class'}")
    return getattr(module, name)


def adapter_of(path: str, base: type) -> Any:
    """The adapter that a file defines: its one class that extends `base`.

    Raises:
        NotDrivableError: there is none, or more than one, or running the file fails.
    """
    shared = ModuleType("kvscope_check")
    setattr(shared, base.__name__, base)
    sys.modules["kvscope_check"] = shared
    module = _module(path, "the_adapter")
    found = [
        thing
        for thing in vars(module).values()
        if isinstance(thing, type) and issubclass(thing, base) and thing is not base
    ]
    if len(found) != 1:
        raise NotDrivableError(
            f"{path} has {len(found)} classes that extend {base.__name__}; one is needed"
        )
    return found[0]()


def _module(path: str, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise NotDrivableError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(Path(path).resolve().parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise NotDrivableError(f"running {path}: it {words(error)}") from error
    return module
