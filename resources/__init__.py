"""Files that ship with the program: models, fonts, icons, texts."""

from pathlib import Path


def resource_path(*parts: str) -> Path:
    """Return the path of a shipped file or folder, named by its parts below `resources`."""
    return Path(__file__).parent.joinpath(*parts)
