"""What is remembered between two starts: the layout and the theme."""

from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings, qVersion

from app.theme import ThemeName

LAYOUT_VERSION = 1
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
    def geometry(self) -> QByteArray:
        """Size and place of the window; empty where none was kept."""
        return self._bytes("window/geometry")

    @property
    def layout(self) -> QByteArray:
        """Arrangement of the panels; empty where none was kept."""
        return self._bytes("window/layout")

    def keep_window(self, geometry: QByteArray, layout: QByteArray) -> None:
        """Remember size, place and arrangement."""
        self._store.setValue("window/geometry", geometry)
        self._store.setValue("window/layout", layout)

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


def layout_version() -> int:
    """A layout is taken back only by a program with these panels and this minor version of Qt."""
    minor = int(qVersion().split(".")[1])
    return LAYOUT_VERSION * 100 + minor
