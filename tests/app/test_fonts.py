"""The shipped fonts are there, are used, and hold the signs that the window draws."""

from PySide6.QtGui import QFont, QFontDatabase, QFontInfo, QRawFont

from app.fonts import FOLDER, MONO, SANS, load_fonts

SIGNS = "AZaz09 ≥≤≠×−→←↑↓✓▶◀·…–"


def test_the_application_writes_in_the_shipped_font(qapp):
    assert QFontInfo(qapp.font()).family() == SANS


def test_the_monospaced_font_is_monospaced(qapp):
    assert QFontDatabase.isFixedPitch(MONO)
    assert QFontInfo(QFont(MONO)).family() == MONO


def test_both_fonts_have_every_sign_that_the_window_draws(qapp):
    for family in (SANS, MONO):
        font = QRawFont.fromFont(QFont(family))
        assert [sign for sign in SIGNS if not font.supportsCharacter(ord(sign))] == []


def test_loading_the_fonts_twice_changes_nothing(qapp):
    size = qapp.font().pointSizeF()
    load_fonts(qapp)
    assert (QFontInfo(qapp.font()).family(), qapp.font().pointSizeF()) == (SANS, size)


def test_the_licence_lies_beside_the_fonts():
    assert "Bitstream Vera Fonts Copyright" in (FOLDER / "LICENSE.txt").read_text("utf-8")
