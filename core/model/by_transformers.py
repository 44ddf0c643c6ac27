"""Checkpoint folders read by transformers, where that is installed; nothing in them is ever run."""

import importlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from safetensors import SafetensorError

from core.errors import ModelError
from core.model.checkpoint_folder import checkpoint_folder

_FAILURES = (
    ImportError,
    IndexError,
    KeyError,
    OSError,
    RuntimeError,
    SafetensorError,
    TypeError,
    ValueError,
)
"""What transformers raises where a folder cannot be used; it has no class of its own."""


def load_by_transformers(folder: Path) -> tuple[ModuleType, Any]:
    """The library, and its causal language model of a folder: on the CPU, in its file's dtype.

    Raises:
        ModelError: there is no such folder, transformers is not there, or cannot read it.
    """
    checkpoint_folder(folder)
    try:
        library = importlib.import_module("transformers")
    except ImportError as error:
        raise ModelError(
            f"{folder}: reading it needs transformers, which is not installed: "
            "pip install transformers"
        ) from error
    with told(folder, "cannot be read by transformers"), quiet(library):
        model, info = library.AutoModelForCausalLM.from_pretrained(
            folder,
            local_files_only=True,
            dtype="auto",
            trust_remote_code=False,
            output_loading_info=True,
        )
    missing = sorted(info["missing_keys"])
    if missing:
        raise ModelError(
            f"{folder}: its files lack {len(missing)} tensors of the model that config.json "
            f"describes, such as {missing[0]}; transformers would make up random ones"
        )
    return library, model.eval()


@contextmanager
def quiet(library: ModuleType) -> Generator[None, None, None]:
    """transformers says nothing of its own meanwhile."""
    logging = library.utils.logging
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        logging.enable_progress_bar()


@contextmanager
def told(folder: Path, what: str) -> Generator[None, None, None]:
    """Turn what the library says of a folder into one line."""
    try:
        yield
    except _FAILURES as error:
        words = " ".join(str(error).split())
        raise ModelError(f"{folder}: {what} ({words:.200})") from error
