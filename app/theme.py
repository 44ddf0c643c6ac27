"""Colours, fonts and sizes that parts of the window share.

The colour scale of attention is in `app/widgets/code_image.py`; a size that only one part has
stands with that part.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QPalette
from PySide6.QtWidgets import QApplication, QStyleFactory, QWidget

from app.fonts import MONO, SANS
from resources import resource_path

ThemeName = Literal["light", "dark", "system"]
USUAL_PX = (13, 12, 11)
"""Letters, numbers and quiet labels."""
LARGE_PX = (18, 16, 15)
"""The same in the layout for teaching."""


@dataclass(frozen=True, slots=True)
class Theme:
    """What views draw with. Each hue has one meaning; `alarm` means wrong and nothing else.

    Attributes:
        name: "light" or "dark".
        paper: ground of every canvas.
        text: letters and the outline of what is expected.
        dim: letters of less weight, and the sign of what is right.
        live: fill of a live slot.
        new: what the engine writes or says now; the colour of a choice.
        dead: outlines and hatches of what holds nothing.
        alarm: wrong.
        frame: quiet lines between panels.
        raised: ground of panels and controls around the canvases.
        sans_px: height of letters.
        mono_px: height of numbers.
        small_px: height of labels of less weight.
        title_px: height of a dock's title.
        target_px: least height of what is clicked.
        margin_px: space around contents.
    """

    name: Literal["light", "dark"]
    paper: QColor
    text: QColor
    dim: QColor
    live: QColor
    new: QColor
    dead: QColor
    alarm: QColor
    frame: QColor
    raised: QColor
    sans_px: int = 13
    mono_px: int = 12
    small_px: int = 11
    title_px: int = 22
    target_px: int = 24
    margin_px: int = 6

    @property
    def scale(self) -> float:
        """How much larger than usual the letters are: those that grew most, or shrank least."""
        return _scale((self.sans_px, self.mono_px, self.small_px))

    def px(self, usual: float) -> int:
        """A length that grows with the letters, from the one beside letters of the usual size."""
        return round(usual * self.scale)

    def sized(self, *, percent: int, is_large: bool = False) -> "Theme":
        """The same colours with letters of another size; large ones can be read from afar."""
        sans, mono, small = LARGE_PX if is_large else USUAL_PX
        made = replace(
            self,
            sans_px=round(sans * percent / 100),
            mono_px=round(mono * percent / 100),
            small_px=round(small * percent / 100),
        )
        title, target, margin = (max(least, made.px(least)) for least in (22, 24, 6))
        return replace(made, title_px=title, target_px=target, margin_px=margin)

    def mixed(self, colour: QColor, share: float) -> QColor:
        """A colour between paper and the one given."""
        a, b = self.paper, colour
        ends = ((a.red(), b.red()), (a.green(), b.green()), (a.blue(), b.blue()))
        return QColor(*(round(start + (end - start) * share) for start, end in ends))

    def sans(self, *, px: int | None = None, is_bold: bool = False) -> QFont:
        """The font of text."""
        return _font(SANS, px or self.sans_px, is_bold=is_bold)

    def mono(self, *, px: int | None = None, is_bold: bool = False) -> QFont:
        """The font of numbers and tokens."""
        return _font(MONO, px or self.mono_px, is_bold=is_bold)


@cache
def _scale(sizes: tuple[int, int, int]) -> float:
    return max(px / usual for px, usual in zip(sizes, USUAL_PX, strict=True))


LIGHT = Theme(
    name="light",
    paper=QColor("#FFFFFF"),
    text=QColor("#1F2328"),
    dim=QColor("#57606A"),
    live=QColor("#9CC4E4"),
    new=QColor("#0B5CAD"),
    dead=QColor("#8A8F98"),
    alarm=QColor("#C2410C"),
    frame=QColor("#D5D9DE"),
    raised=QColor("#F3F4F6"),
)
DARK = Theme(
    name="dark",
    paper=QColor("#16191D"),
    text=QColor("#E6E8EB"),
    dim=QColor("#9BA3AE"),
    live=QColor("#2C5C88"),
    new=QColor("#6CB6FF"),
    dead=QColor("#7D8590"),
    alarm=QColor("#FF7B4D"),
    frame=QColor("#33383F"),
    raised=QColor("#1F2329"),
)


def choose_theme(name: ThemeName, application: QApplication) -> Theme:
    """The theme of a name; "system" follows the desktop's colour scheme."""
    if name == "system":
        is_dark = application.styleHints().colorScheme() == Qt.ColorScheme.Dark
        return DARK if is_dark else LIGHT
    return DARK if name == "dark" else LIGHT


def apply_theme(application: QApplication, theme: Theme) -> None:
    """Give the application Fusion, a palette with every role of every group, and the font."""
    # A colour scheme asked of the platform does nothing on X11 and offscreen, hence the palette.
    if application.style().name() != "fusion":
        application.setStyle(QStyleFactory.create("Fusion"))
    application.setPalette(palette(theme))
    application.setFont(theme.sans())
    tabs = theme.sans(px=theme.small_px + 1)
    # The stubs of PySide6 6.11 say bytes; the call takes a text only.
    application.setFont(tabs, "QTabBar")  # pyright: ignore[reportArgumentType]


def palette(theme: Theme) -> QPalette:
    """The theme's colour of every role, in the groups Active, Inactive and Disabled."""
    made = QPalette()
    is_light = theme.name == "light"
    on_accent = theme.paper
    colours = {
        QPalette.ColorRole.Window: theme.raised,
        QPalette.ColorRole.WindowText: theme.text,
        QPalette.ColorRole.Base: theme.paper,
        QPalette.ColorRole.AlternateBase: theme.raised,
        QPalette.ColorRole.Text: theme.text,
        QPalette.ColorRole.Button: theme.paper if is_light else theme.raised.lighter(125),
        QPalette.ColorRole.ButtonText: theme.text,
        QPalette.ColorRole.BrightText: on_accent,
        QPalette.ColorRole.ToolTipBase: theme.paper,
        QPalette.ColorRole.ToolTipText: theme.text,
        QPalette.ColorRole.PlaceholderText: theme.dim,
        QPalette.ColorRole.Highlight: theme.new,
        QPalette.ColorRole.HighlightedText: on_accent,
        QPalette.ColorRole.Accent: theme.new,
        QPalette.ColorRole.Link: theme.new,
        QPalette.ColorRole.LinkVisited: theme.new,
        QPalette.ColorRole.Light: theme.paper if is_light else theme.frame.lighter(130),
        QPalette.ColorRole.Midlight: theme.raised if is_light else theme.frame.lighter(110),
        QPalette.ColorRole.Mid: theme.frame,
        QPalette.ColorRole.Dark: theme.dead,
        QPalette.ColorRole.Shadow: theme.frame,
    }
    for role, colour in colours.items():
        for group in (QPalette.ColorGroup.Active, QPalette.ColorGroup.Inactive):
            made.setColor(group, role, colour)
        made.setColor(QPalette.ColorGroup.Disabled, role, _disabled(theme, role, colour))
    return made


def restyle(widget: QWidget, style_sheet: str, colours: QPalette | None = None) -> None:
    """Give a widget another style sheet, and colours of its own where there are any.

    A widget with a style sheet comes back to the palette that it had before the sheet, so the old
    one is taken away first.
    """
    widget.setStyleSheet("")
    widget.setPalette(QPalette() if colours is None else colours)
    widget.setStyleSheet(style_sheet)


def tick_box_style(theme: Theme) -> str:
    """Style sheet of a tick box, or of a list of them.

    Fusion draws the frame of a box darker than the window: not to be seen on a dark one. For
    single controls only: a style sheet of the application changes the sizes of all of them.
    """
    check = resource_path("icons", f"check-{theme.name}.svg").as_posix()
    dead, new = theme.dead.name(), theme.new.name()
    return (
        f"::indicator {{ width: 12px; height: 12px; border-radius: 2px;"
        f" border: 1px solid {dead}; background: {theme.paper.name()}; }}"
        f"::indicator:checked {{ border-color: {new}; background: {new};"
        f' image: url("{check}"); }}'
    )


def complaint_style(theme: Theme, indent_px: int = 0) -> str:
    """Style sheet of a label that says what is wrong with a setting: a bar at its left."""
    return (
        f"QLabel {{ border: 0px solid {theme.text.name()}; border-left-width: 3px;"
        f" padding-left: 5px; margin-left: {indent_px}px; }}"
    )


def quiet_choice(theme: Theme) -> QPalette:
    """For lists in which the chosen row is not the loudest thing of the window."""
    made = palette(theme)
    made.setColor(QPalette.ColorRole.Highlight, theme.frame)
    made.setColor(QPalette.ColorRole.HighlightedText, theme.text)
    return made


_FAINT_WHEN_DISABLED = {
    QPalette.ColorRole.WindowText,
    QPalette.ColorRole.Text,
    QPalette.ColorRole.ButtonText,
    QPalette.ColorRole.PlaceholderText,
    QPalette.ColorRole.Link,
    QPalette.ColorRole.LinkVisited,
}
_FLAT_WHEN_DISABLED = {QPalette.ColorRole.Highlight, QPalette.ColorRole.Accent}


def _disabled(theme: Theme, role: QPalette.ColorRole, colour: QColor) -> QColor:
    if role in _FAINT_WHEN_DISABLED:
        return theme.dead
    return theme.frame if role in _FLAT_WHEN_DISABLED else colour


@cache
def _font(family: str, px: int, *, is_bold: bool) -> QFont:
    """One for all that ask for the same: whoever changes it changes a copy."""
    font = QFont(family)
    font.setPixelSize(px)
    font.setBold(is_bold)
    return font
