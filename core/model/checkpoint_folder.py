"""A folder that somebody names as a checkpoint."""

from pathlib import Path

from core.errors import ModelError


def checkpoint_folder(folder: Path) -> Path:
    """The folder, if it can be one of a checkpoint.

    Raises:
        ModelError: there is no such folder, or no config.json in it.
    """
    if not folder.is_dir():
        raise ModelError(f"{folder}: there is no such folder; give that of a checkpoint")
    if not (folder / "config.json").is_file():
        raise ModelError(f"{folder}: has no config.json; give the folder of a checkpoint")
    return folder
