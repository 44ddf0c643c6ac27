"""The first file that runs in the other process; a script, started by its path.

It hides kvscope's own packages, so that the user's file finds its own `core` and `app`, and keeps
the standard streams for the checker: what the user's code prints goes to the error stream.
"""
# The user's objects have no type that is known.
# pyright: basic

import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
HIDDEN = ("app", "core", "resources", "tests")
NAME = "kvscope_child"


class Hidden(MetaPathFinder):
    """Finds packages of these names anywhere but where kvscope itself lies."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The user's own module of that name.

        Raises:
            ModuleNotFoundError: there is none, or only ours.
        """
        if path is not None or fullname not in HIDDEN:
            return None
        elsewhere = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
        found = PathFinder.find_spec(fullname, elsewhere, target)
        if found is None:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return found


def package(name: str, folder: Path) -> None:
    """Make a folder a package of this name."""
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None  # noqa: S101  (the folder lies beside this file)
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def main(name: str = NAME) -> None:
    """Serve the checker on what were the standard streams; `name` is the package that does."""
    asks = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.meta_path.insert(0, Hidden())
    package(NAME, HERE)
    importlib.import_module(f"{name}.serve").serve(asks, answers)


if __name__ == "__main__":
    main()
