"""Colours: the ones that were measured, in every role, readable."""

import pytest
from PySide6.QtGui import QColor, QPalette

from app.icons import icon
from app.theme import DARK, LIGHT, Theme, choose_theme, palette

THEMES = {"light": LIGHT, "dark": DARK}
MEASURED = {
    "light": {"text": 15.8, "dim": 6.4, "new": 6.7, "dead": 3.3, "alarm": 5.2},
    "dark": {"text": 14.4, "dim": 6.9, "new": 8.2, "dead": 4.7, "alarm": 6.9},
}


def luminance(colour: QColor) -> float:
    parts = [colour.redF(), colour.greenF(), colour.blueF()]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: QColor, b: QColor) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", THEMES)
def test_contrasts_are_those_that_were_measured(name):
    theme = THEMES[name]
    for field, ratio in MEASURED[name].items():
        assert contrast(getattr(theme, field), theme.paper) == pytest.approx(ratio, abs=0.06)


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
@pytest.mark.parametrize("group", ["Active", "Inactive", "Disabled"])
def test_every_role_is_set_in_every_group(theme: Theme, group):
    made = palette(theme)
    unset = [
        role.name
        for role in QPalette.ColorRole
        if role not in (QPalette.ColorRole.NoRole, QPalette.ColorRole.NColorRoles)
        and not made.isBrushSet(QPalette.ColorGroup[group], role)
    ]
    assert unset == []


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
@pytest.mark.parametrize(
    ("letters", "ground"),
    [
        ("WindowText", "Window"),
        ("Text", "Base"),
        ("Text", "AlternateBase"),
        ("ButtonText", "Button"),
        ("ToolTipText", "ToolTipBase"),
        ("HighlightedText", "Highlight"),
        ("PlaceholderText", "Base"),
        ("Link", "Window"),
    ],
)
def test_letters_can_be_read_on_their_ground(theme: Theme, letters, ground):
    made = palette(theme)
    role = QPalette.ColorRole
    assert contrast(made.color(role[letters]), made.color(role[ground])) >= 4.5


def test_alarm_is_the_colour_of_no_role():
    for theme in THEMES.values():
        made = palette(theme)
        used = {made.color(role).name() for role in list(QPalette.ColorRole)[:-2]}
        assert theme.alarm.name() not in used


def test_a_theme_is_chosen_by_name(qapp):
    assert choose_theme("dark", qapp) is DARK
    assert choose_theme("light", qapp) is LIGHT
    assert choose_theme("system", qapp) in (LIGHT, DARK)


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_an_icon_is_drawn_in_the_colour_of_text(qapp, theme: Theme):
    image = icon("pause", theme).pixmap(64, 64).toImage()
    inked = {
        image.pixelColor(x, y).name()
        for x in range(64)
        for y in range(64)
        if image.pixelColor(x, y).alpha() == 255
    }
    assert inked == {theme.text.name()}
