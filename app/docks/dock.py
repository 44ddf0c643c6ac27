"""A panel with a quiet frame, and one that shows a readout of the run."""

from typing import Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QAbstractButton,
    QDockWidget,
    QFrame,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QToolButton,
    QWidget,
)

from app.docks.registry import DockSpec
from app.icons import icon
from app.settings_panel import SettingsPanel
from app.theme import Theme
from core.readouts.run_view import RunView
from core.selection import Selection


class Dock(QDockWidget):
    """A panel that can be moved, floated, closed and brought back from the menu."""

    def __init__(self, dock_id: str, title: str, content: QWidget, theme: Theme) -> None:
        """Takes what it shows."""
        super().__init__(title)
        self.setObjectName(f"dock-{dock_id}")
        self.setTitleBarWidget(self._title_bar(title, theme))
        self.setWidget(content)

    def _title_bar(self, title: str, theme: Theme) -> QWidget:
        bar = QWidget()
        bar.setFixedHeight(theme.title_px)
        row = QHBoxLayout(bar)
        row.setContentsMargins(theme.margin_px + 2, 0, 2, 0)
        row.setSpacing(0)
        label = QLabel(title)
        label.setFont(theme.sans(px=theme.small_px + 1, is_bold=True))
        row.addWidget(label, 1)
        float_button = _title_button("float", f"Float {title}", theme)
        float_button.clicked.connect(self._float)
        close_button = _title_button("close", f"Close {title}", theme)
        close_button.clicked.connect(self.close)
        row.addWidget(float_button)
        row.addWidget(close_button)
        return bar

    @Slot()
    def _float(self) -> None:
        self.setFloating(not self.isFloating())


class ReadoutDock(Dock):
    """Shows one readout. While hidden it does nothing, and remembers the newest view only."""

    selected = Signal(object)
    pointed = Signal(object)

    def __init__(self, spec: DockSpec, theme: Theme) -> None:
        """Builds the widget of a spec."""
        self.spec = spec
        self._pending: RunView | None = None
        self._is_seen = False
        content = spec.build(theme)
        # Qt moves no neighbour when a least height changes, so it is the same at all times.
        content.setMinimumHeight(spec.least_px)
        super().__init__(spec.id, spec.title, content, theme)
        content.selected.connect(self.selected)
        content.pointed.connect(self.pointed)
        self.visibilityChanged.connect(self._on_visibility)

    @property
    def content(self) -> Any:  # noqa: ANN401  (each view takes a readout of its own kind)
        """The widget that shows the readout."""
        return self.widget()

    def show_view(self, view: RunView) -> None:
        """Show this now, or when the panel is next seen."""
        self._pending = view
        if self._is_seen:
            self._show_pending()

    @Slot(object)
    def show_pointed(self, selection: Selection | None) -> None:
        """Light up what the mouse is over, in whichever panel."""
        if self._is_seen:
            self.content.show_pointed(selection)

    @Slot()
    def show_nothing(self) -> None:
        """There is no step to show."""
        self._pending = None
        self.content.clear()

    @Slot(bool)
    def _on_visibility(self, is_seen: bool) -> None:  # noqa: FBT001  (a signal of Qt)
        self._is_seen = is_seen
        if is_seen:
            self._show_pending()

    def _show_pending(self) -> None:
        view, self._pending = self._pending, None
        if view is not None:
            self.content.show_readout(self.spec.readout(view))


class FormScroll(QScrollArea):
    """A form that can be scrolled where the window is too low for it."""

    def __init__(self, form: SettingsPanel) -> None:
        """Takes the form; what it complains about is scrolled to."""
        super().__init__()
        form.complained.connect(self._scroll_to)
        self.setWidget(form)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    @Slot(QWidget)
    def _scroll_to(self, complaint: QWidget) -> None:
        self.ensureWidgetVisible(complaint)


def _title_button(name: str, tooltip: str, theme: Theme) -> QAbstractButton:
    button = QToolButton()
    button.setIcon(icon(name, theme))
    button.setAutoRaise(True)
    button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    button.setToolTip(tooltip)
    button.setAccessibleName(tooltip)
    button.setFixedSize(theme.title_px, theme.title_px - 2)
    return button
