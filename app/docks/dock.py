"""A panel with a quiet frame, and one that shows a readout of the run."""

from typing import Any

from PySide6.QtCore import QPoint, QRect, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QDockWidget, QFrame, QMainWindow, QScrollArea, QWidget

from app.docks.registry import DockSpec
from app.docks.title_bar import TitleBar
from app.settings_panel import SettingsPanel
from app.theme import Theme
from app.widgets.panel import CanvasPanel
from core.readouts.run_view import RunView
from core.selection import Selection


class Dock(QDockWidget):
    """A panel that can be moved, floated, closed and brought back from the menu.

    Attributes:
        id: its name in saved layouts.
        area: where it stands at first: "left", "centre", "right" or "bottom".
        tab_of: the dock that it stands behind at first; None: it has a place of its own.
        height_px: its height at first, title and all, beside letters of the usual size; None:
            what the others leave.
        has_title: whether it stands under a title, or is a strip of one line.
        is_turning: whether its own button makes it float, or come back, just now.
    """

    picture_wanted = Signal(str)

    def __init__(
        self,
        dock_id: str,
        title: str,
        content: QWidget,
        theme: Theme,
        *,
        area: str = "left",
        tab_of: str | None = None,
        height_px: int | None = None,
        has_title: bool = True,
    ) -> None:
        """Takes what it shows."""
        super().__init__(title)
        self.setObjectName(f"dock-{dock_id}")
        self.id, self.area, self.tab_of, self.height_px = dock_id, area, tab_of, height_px
        self.has_title = has_title
        self.is_turning = self._is_tab = False
        self._bar = self._new_bar(theme)
        self.fold_title(is_tab=False)
        self.setWidget(content)

    @property
    def least_px(self) -> int:
        """Least height of what it shows."""
        return self.widget().minimumHeight()

    @property
    def needed_px(self) -> int:
        """Height in which nothing of it has to be scrolled, where that is known."""
        content = self.widget()
        return content.needed_px if isinstance(content, FormScroll) else 0

    @property
    def is_behind(self) -> bool:
        """Whether it stands behind a tab: Qt puts it outside of the window then."""
        if self.isHidden() or self.isFloating():
            return False
        window = self.window()
        return not window.rect().intersects(QRect(self.mapTo(window, QPoint()), self.size()))

    @property
    def title_bar(self) -> TitleBar:
        """The title with its buttons."""
        return self._bar

    def dress(self, theme: Theme) -> None:
        """Show in another theme."""
        old, self._bar = self._bar, self._new_bar(theme)
        self.fold_title(is_tab=self._is_tab)
        old.deleteLater()

    def fold_title(self, *, is_tab: bool) -> None:
        """Without a title while a tab says the same."""
        self._is_tab = is_tab
        self._bar.set_folded(is_folded=is_tab or not self.has_title)

    def _new_bar(self, theme: Theme) -> TitleBar:
        bar = TitleBar(self.windowTitle(), theme)
        bar.float_wanted.connect(self._float)
        bar.close_wanted.connect(self.close)
        bar.picture_wanted.connect(self.picture_wanted)
        self.setTitleBarWidget(bar)
        return bar

    @Slot()
    def _float(self) -> None:
        self.is_turning = True
        self.setFloating(not self.isFloating())
        self.is_turning = False


class Island(QWidget):
    """Gives a view its place, and keeps to itself that something is arranged anew in there.

    A layout tells all that hold it whenever it arranges its parts; the last of them is the window,
    which then arranges every panel.
    """

    def __init__(self, content: QWidget) -> None:
        """Takes the view."""
        super().__init__()
        self.content = content
        content.setParent(self)
        self.setFocusProxy(content)
        self.setSizePolicy(content.sizePolicy())

    def sizeHint(self) -> QSize:
        """That of the view."""
        return self.content.sizeHint()

    def minimumSizeHint(self) -> QSize:
        """That of the view."""
        return self.content.minimumSizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The view fills it."""
        super().resizeEvent(event)
        self.content.resize(self.size())


class ReadoutDock(Dock):
    """Shows one readout. While hidden it does nothing, and remembers the newest view only."""

    selected = Signal(object)
    pointed = Signal(object)
    link_wanted = Signal(object)
    run_wanted = Signal(int)
    token_forced = Signal(object)

    def __init__(self, spec: DockSpec, theme: Theme) -> None:
        """Builds the widget of a spec."""
        self.spec = spec
        self._view: RunView | None = None
        self._is_shown = True
        self._is_seen = False
        super().__init__(
            spec.id,
            spec.title,
            Island(spec.build(theme)),
            theme,
            area=spec.area,
            tab_of=spec.tab_of,
            height_px=spec.height_px,
            has_title=spec.has_title,
        )
        self._take_in(theme)
        self.visibilityChanged.connect(self._on_visibility)

    @property
    def sentence_px(self) -> int:
        """How high the sentence below what it shows is; 0 where it has none, or is not seen."""
        content = self.content
        is_said = isinstance(content, CanvasPanel) and self._is_seen
        return content.sentence_px if is_said else 0

    @property
    def content(self) -> Any:  # noqa: ANN401  (each view takes a readout of its own kind)
        """The widget that shows the readout."""
        island = self.widget()
        assert isinstance(island, Island)  # noqa: S101  (made here)
        return island.content

    def dress(self, theme: Theme) -> None:
        """Build the view anew in another theme; it shows what the old one did.

        A view that has choices of its own hands them over: `choices()` and `choose(choices)`.
        """
        super().dress(theme)
        old, old_island = self.content, self.widget()
        self.setWidget(Island(self.spec.build(theme)))
        self._take_in(theme)
        if hasattr(old, "choices"):
            self.content.choose(old.choices())
        old_island.deleteLater()
        self._is_shown = False
        if self._is_seen:
            self._show_pending()

    def show_view(self, view: RunView) -> None:
        """Show this now, or when the panel is next seen; what is shown already stays."""
        is_shown = self._is_shown and self._view is not None and view.is_same(self._view)
        self._view, self._is_shown = view, is_shown
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
        self._view = None
        self.content.clear()

    @Slot(bool)
    def _on_visibility(self, is_seen: bool) -> None:  # noqa: FBT001  (a signal of Qt)
        self._is_seen = is_seen
        if is_seen:
            self._show_pending()

    def _take_in(self, theme: Theme) -> None:
        content = self.content
        # Qt moves no neighbour when a least height changes, so it is the same at all times.
        # Small letters take more than their share.
        words_px = content.least_px if hasattr(content, "least_px") else 0
        content.setMinimumHeight(max(theme.px(self.spec.least_px), words_px))
        self.widget().setMinimumHeight(content.minimumHeight())
        content.selected.connect(self.selected)
        content.pointed.connect(self.pointed)
        if hasattr(content, "link_wanted"):
            content.link_wanted.connect(self.link_wanted)
        if hasattr(content, "run_wanted"):
            content.run_wanted.connect(self.run_wanted)
        if hasattr(content, "forced"):
            content.forced.connect(self.token_forced)
            content.offer_forcing()

    def _show_pending(self) -> None:
        if self._view is not None and not self._is_shown:
            self._is_shown = True
            self.content.show_readout(self.spec.readout(self._view))


class FormScroll(QScrollArea):
    """A form that can be scrolled where the window is too low for it."""

    def __init__(self, form: SettingsPanel) -> None:
        """Takes the form; what it complains about is scrolled to."""
        super().__init__()
        self._form = form
        self._taken_px = 0
        self._settling = QTimer(self)
        self._settling.setSingleShot(True)
        self._settling.timeout.connect(self._settle)
        form.complained.connect(self._scroll_to)
        form.rows_changed.connect(self.fit)
        self.setAccessibleName("Setup")
        self.setWidget(form)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    @property
    def needed_px(self) -> int:
        """The height in which every row of the form has room."""
        return self._form.needed_px(self.viewport().width())

    @Slot()
    def fit(self) -> None:
        """Take from the panels beside it what the rows lack; give back what they need no more."""
        missing_px = max(self.needed_px - self.viewport().height(), -self._taken_px)
        self._take(missing_px)
        if missing_px < 0:
            self.fit_soon()

    @Slot()
    def fit_soon(self) -> None:
        """Take just what the rows need, once they know: a form that was hidden has old letters."""
        self._settling.start()

    @Slot()
    def _settle(self) -> None:
        self._taken_px = 0
        self._take(self.needed_px - self.viewport().height())

    def _take(self, missing_px: int) -> None:
        window, dock = self.window(), self.parentWidget()
        if not (isinstance(window, QMainWindow) and isinstance(dock, QDockWidget)):
            return
        if missing_px and dock.isVisible() and not window.tabifiedDockWidgets(dock):
            self._taken_px += missing_px
            window.resizeDocks([dock], [dock.height() + missing_px], Qt.Orientation.Vertical)

    @Slot(QWidget)
    def _scroll_to(self, complaint: QWidget) -> None:
        self.ensureWidgetVisible(complaint)
