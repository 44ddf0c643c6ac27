"""Which files of other people's code may be run: asked about each, and remembered.

A file is trusted by its path as long as the window is open, and after that as long as its content
is what was run last.
"""

import hashlib
from pathlib import Path

from app.preferences import Preferences


class Trust:
    """Knows what a person said yes to; whoever runs a file asks here first."""

    def __init__(self, preferences: Preferences) -> None:
        """Nothing is trusted in this sitting yet."""
        self._preferences = preferences
        self._sitting: set[Path] = set()

    def may_run(self, path: Path) -> bool:
        """Whether nobody has to be asked before the file is run."""
        path = path.resolve()
        if path in self._sitting:
            return True
        kept, now = self._preferences.trusted_digest(path), digest_of(path)
        return kept is not None and kept == now

    def trust(self, path: Path) -> None:
        """A person said yes."""
        self._sitting.add(path.resolve())

    def note_run(self, path: Path) -> None:
        """The file is run as it is now; this content is not asked about again."""
        path = path.resolve()
        self._sitting.add(path)
        digest = digest_of(path)
        if digest is not None:
            self._preferences.keep_trusted(path, digest)


def digest_of(path: Path) -> str | None:
    """SHA-256 of what the file holds; None: it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
