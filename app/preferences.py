"""What is remembered between two starts: looks, layouts, and the traces opened last."""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from zlib import crc32

from PySide6.QtCore import QByteArray, QSettings, qVersion

from app.layout import LayoutName
from app.theme import ThemeName

LAYOUT_VERSION = 2
TEXT_PERCENT = (80, 90, 100, 110, 125, 150, 175, 200)
MOST_RECENT = 10
_THEMES: tuple[ThemeName, ...] = ("light", "dark", "system")


class Preferences:
    """Typed values in one ini file."""

    def __init__(self, path: Path | None = None) -> None:
        """Takes the file; None: the usual place of the user's settings."""
        if path is None:
            form, scope = QSettings.Format.IniFormat, QSettings.Scope.UserScope
            self._store = QSettings(form, scope, "kvscope", "kvscope")
        else:
            self._store = QSettings(str(path), QSettings.Format.IniFormat)

    @property
    def path(self) -> str:
        """Where the values are."""
        return self._store.fileName()

    @property
    def theme(self) -> ThemeName:
        """The theme that was chosen; "system" where none was."""
        value = self._store.value("theme", "system", str)
        return _THEMES[_THEMES.index(value)] if value in _THEMES else "system"

    @theme.setter
    def theme(self, name: ThemeName) -> None:
        self._store.setValue("theme", name)

    @property
    def has_tried_fault(self) -> bool:
        """Whether a fault was ever switched on: then nobody has to be told that one can be."""
        return bool(self._store.value("has-tried-fault", defaultValue=False, type=bool))

    def note_fault_tried(self) -> None:
        """A fault was switched on."""
        has_tried = True
        self._store.setValue("has-tried-fault", has_tried)

    @property
    def text_percent(self) -> int:
        """Size of letters and numbers; 100 where none was chosen."""
        value = self._store.value("text-percent", 100, int)
        return value if value in TEXT_PERCENT else 100

    @text_percent.setter
    def text_percent(self, percent: int) -> None:
        self._store.setValue("text-percent", percent)

    @property
    def layout_name(self) -> LayoutName:
        """The layout that was chosen; "debug" where none was."""
        value = self._store.value("layout-name", "debug", str)
        return "teach" if value == "teach" else "debug"

    @layout_name.setter
    def layout_name(self, name: LayoutName) -> None:
        self._store.setValue("layout-name", name)

    @property
    def recent(self) -> tuple[Path, ...]:
        """Traces that were opened or saved, the newest first."""
        # One line each: a list of a single entry would come back as a plain text.
        lines = str(self._store.value("recent", "", str)).splitlines()
        return tuple(Path(line) for line in lines[:MOST_RECENT])

    def remember(self, path: Path) -> None:
        """Put a trace at the head of the recent ones."""
        paths = [path.resolve(), *(old for old in self.recent if old != path.resolve())]
        self._store.setValue("recent", "\n".join(str(each) for each in paths[:MOST_RECENT]))

    def forget_recent(self) -> None:
        """No trace was opened."""
        self._store.remove("recent")

    def trusted_digest(self, path: Path) -> str | None:
        """SHA-256 of the content of a file of code that was run last; None: it never was."""
        value = self._store.value(_trust_key(path), "", str)
        return str(value) or None

    def keep_trusted(self, path: Path, digest: str) -> None:
        """A person lets this content be run."""
        self._store.setValue(_trust_key(path), digest)

    @property
    def geometry(self) -> QByteArray:
        """Size and place of the window; empty where none was kept."""
        return self._bytes("window/geometry")

    def arrangement(self, name: str) -> QByteArray:
        """Arrangement of the panels of a layout; empty where none was kept."""
        return self._bytes(f"window/panels-{name}")

    def keep_geometry(self, geometry: QByteArray) -> None:
        """Remember size and place of the window."""
        self._store.setValue("window/geometry", geometry)

    def keep_arrangement(self, name: str, panels: QByteArray) -> None:
        """Remember the arrangement of the panels of a layout."""
        self._store.setValue(f"window/panels-{name}", panels)

    def forget_layout(self) -> None:
        """The window opens as at its first start."""
        self._store.remove("window")

    def forget_all(self) -> None:
        """Everything is as at the first start."""
        self._store.clear()

    def save(self) -> None:
        """Write to the file now."""
        self._store.sync()

    def _bytes(self, key: str) -> QByteArray:
        value = self._store.value(key, QByteArray())
        return value if isinstance(value, QByteArray) else QByteArray()


def _trust_key(path: Path) -> str:
    """A path has signs that mean something in a key, and is looked up only, so its hash will do."""
    return f"trusted-code/{sha256(str(path).encode()).hexdigest()}"


def layout_version(ids: Iterable[str]) -> int:
    """A layout is taken back only by a program with these panels and this minor version of Qt."""
    minor = int(qVersion().split(".")[1])
    return (LAYOUT_VERSION * 100 + minor) * 10_000 + crc32(" ".join(sorted(ids)).encode()) % 10_000
