"""Tells when files were saved, also by editors that put another file in their place."""

from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal, Slot

from app.own_code_trust import digest_of

QUIET_MS = 300
"""An editor may write a file in several goes: it is looked at once it was quiet for so long."""


class FileWatch(QObject):
    """Watches some files; `changed` is told when the content of one is another than before.

    `looked` is told after each look at them, whether anything has changed or not.
    """

    changed = Signal()
    looked = Signal()

    def __init__(self, parent: QObject) -> None:
        """Watches nothing at first."""
        super().__init__(parent)
        self._paths: tuple[Path, ...] = ()
        self._digests: tuple[str | None, ...] = ()
        self._watcher = QFileSystemWatcher(self)
        self._quiet = QTimer(self)
        self._quiet.setSingleShot(True)
        self._quiet.setInterval(QUIET_MS)
        self._quiet.timeout.connect(self._look)
        self._watcher.fileChanged.connect(self._on_touched)
        self._watcher.directoryChanged.connect(self._on_touched)

    def watch(self, paths: Iterable[Path]) -> None:
        """Watch these files, as they are now, and no others."""
        self.stop()
        self._paths = tuple(path.resolve() for path in paths)
        self._digests = self._now()
        self._add()

    def stop(self) -> None:
        """Watch nothing."""
        self._quiet.stop()
        watched = [*self._watcher.files(), *self._watcher.directories()]
        if watched:
            self._watcher.removePaths(watched)
        self._paths, self._digests = (), ()

    def _add(self) -> None:
        """A file that was replaced is lost to Qt, hence the folders, and this anew each time."""
        folders = {str(path.parent) for path in self._paths if path.parent.is_dir()}
        wanted = folders | {str(path) for path in self._paths if path.is_file()}
        missing = wanted - {*self._watcher.files(), *self._watcher.directories()}
        if missing:
            self._watcher.addPaths(sorted(missing))

    @Slot(str)
    def _on_touched(self, path: str) -> None:
        del path
        self._quiet.start()

    @Slot()
    def _look(self) -> None:
        self._add()
        now = self._now()
        if now != self._digests:
            self._digests = now
            self.changed.emit()
        self.looked.emit()

    def _now(self) -> tuple[str | None, ...]:
        return tuple(map(digest_of, self._paths))
