"""The first file that runs in the process of a model; a script, started by its path."""
# The user's objects have no type that is known.
# pyright: basic

import importlib.util
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHARED = HERE.parents[1] / "child" / "start.py"
NAME = "kvscope_model_child"


def main() -> None:
    """Start as the process of a class does, with this package in place of that one."""
    spec = importlib.util.spec_from_file_location("kvscope_start", SHARED)
    assert spec is not None  # noqa: S101  (the file is one of ours)
    assert spec.loader is not None  # noqa: S101
    shared = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(shared)
    shared.package(NAME, HERE)
    shared.main(NAME)


if __name__ == "__main__":
    main()
