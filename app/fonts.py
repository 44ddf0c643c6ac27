"""The fonts that ship with the program, so that it looks the same on every machine."""

from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QApplication

from resources import resource_path

SANS = "DejaVu Sans"
MONO = "DejaVu Sans Mono"
FOLDER = resource_path("fonts")


def load_fonts(application: QApplication) -> None:
    """Register the shipped fonts and make `SANS` the application's font, its size unchanged.

    A system without any font then still shows letters: Qt draws boxes there and reports nothing.

    Raises:
        FileNotFoundError: a font file is missing or is not a font.
    """
    for path in sorted(FOLDER.glob("*.ttf")):
        if QFontDatabase.addApplicationFont(str(path)) == -1:
            raise FileNotFoundError(f"{path} cannot be read as a font; install kvscope again")
    missing = {SANS, MONO} - set(QFontDatabase.families())
    if missing:
        raise FileNotFoundError(f"no font {sorted(missing)} in {FOLDER}; install kvscope again")
    font = application.font()
    font.setFamily(SANS)
    application.setFont(font)
