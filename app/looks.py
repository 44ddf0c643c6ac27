"""Colours and the size of text: chosen at any time, and remembered."""

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QApplication

from app.preferences import TEXT_PERCENT, Preferences
from app.theme import Theme, ThemeName, apply_theme, choose_theme


class Looks(QObject):
    """Owns the theme in force; `changed` tells the next one once the application has it."""

    changed = Signal(object)

    def __init__(self, theme: Theme, preferences: Preferences, parent: QObject) -> None:
        """Takes the colours to begin with; the size is the one remembered."""
        super().__init__(parent)
        self._preferences = preferences
        self._colours = theme
        self._is_large = preferences.layout_name == "teach"
        self.theme = self._sized()
        if self.theme != theme:
            self.apply()
        hints = QApplication.styleHints()
        hints.colorSchemeChanged.connect(self._on_desktop_changed)

    @property
    def theme_name(self) -> ThemeName:
        """What was chosen."""
        return self._preferences.theme

    @property
    def text_percent(self) -> int:
        """Size of letters and numbers."""
        return self._preferences.text_percent

    def apply(self) -> None:
        """Give the application the theme."""
        application = QApplication.instance()
        if isinstance(application, QApplication):
            apply_theme(application, self.theme)

    def choose_theme(self, name: ThemeName) -> None:
        """Show in these colours from now on."""
        self._preferences.theme = name
        self._colour()

    def larger_text(self) -> None:
        """The next larger size."""
        self._set_text(min((p for p in TEXT_PERCENT if p > self.text_percent), default=200))

    def smaller_text(self) -> None:
        """The next smaller size."""
        self._set_text(max((p for p in TEXT_PERCENT if p < self.text_percent), default=80))

    def usual_text(self) -> None:
        """The usual size."""
        self._set_text(100)

    def use_large_text(self, *, is_large: bool) -> None:
        """Take the sizes for teaching, or the usual ones."""
        self._is_large = is_large
        self._renew()

    def _set_text(self, percent: int) -> None:
        self._preferences.text_percent = percent
        self._renew()

    @Slot(Qt.ColorScheme)
    def _on_desktop_changed(self, scheme: Qt.ColorScheme) -> None:
        if self.theme_name == "system":
            self._colour()

    def _colour(self) -> None:
        application = QApplication.instance()
        if isinstance(application, QApplication):
            self._colours = choose_theme(self.theme_name, application)
            self._renew()

    def _renew(self) -> None:
        theme = self._sized()
        if theme != self.theme:
            self.theme = theme
            self.apply()
            self.changed.emit(theme)

    def _sized(self) -> Theme:
        return self._colours.sized(percent=self.text_percent, is_large=self._is_large)
