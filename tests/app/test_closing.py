"""The window is closed while something is going on: it ends at once, and has nothing to say.

One process opens and closes it again and again: the engine is loaded once.
"""

import pytest

from tests.app.program import PRELUDE, run_code

WAYS = """
from PySide6.QtWidgets import QPlainTextEdit
from app.draft import Draft

def close(words):
    print(words)
    QApplication.closeAllWindows()

def when_at_rest(control, act):
    def once():
        control.rested.disconnect(once)
        act()

    control.rested.connect(once)

def judging(control):
    def look():
        cursor = control.cursor
        if cursor.n_records and cursor.n_verdicts == 0 and not told:
            told.append(True)
            close("steps without a verdict: True")

    told = []
    control.cursor.changed.connect(look)

def playing(control):
    def play():
        control.player.set_speed(64)
        control.play_or_pause()
        control.stepped.connect(look)

    def look():
        if control.cursor.n_records == 6:
            close(f"playing: {control.player.is_playing}")

    when_at_rest(control, play)

def starting(control):
    def start():
        control.run(Draft("rope", "Mia outside.", capacity=64), 40, "newest", None)
        close(f"another run is on its way: {control.situation().is_starting}")

    when_at_rest(control, start)

def editing(control):
    def edit():
        fields = [f for f in QApplication.allWidgets() if isinstance(f, QPlainTextEdit)]
        prompt = next(f for f in fields if f.accessibleName() == "Prompt" and f.isVisible())
        prompt.setPlainText("half a sen")
        close(f"an edit is not taken up: {control.draft.prompt != prompt.toPlainText()}")

    when_at_rest(control, edit)

def in_mid_run(control):
    def look():
        if control.cursor.n_records and not told:
            told.append(True)
            close(f"steps are on their way: {control.situation().is_busy}")

    told = []
    control.cursor.changed.connect(look)

def close_while(way, *arguments):
    global prepare
    prepare = way
    print("status", main(list(arguments)), flush=True)
"""
WHEN = {
    "judging": "steps without a verdict: True",
    "playing": "playing: True",
    "starting": "another run is on its way: True",
    "editing": "an edit is not taken up: True",
    "in_mid_run": "steps are on their way: True",
}
ALL = """
close_while(judging, "--step", "60")
close_while(playing, "--step", "1")
close_while(starting)
close_while(editing)
close_while(in_mid_run, "--step", "100")
"""


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    """A process that has closed the window in every way."""
    return run_code(tmp_path_factory.mktemp("closed"), PRELUDE + WAYS + ALL)


def test_closing_is_quiet_whatever_goes_on(closed):
    assert (closed.returncode, closed.stderr) == (0, "")


@pytest.mark.parametrize("way", WHEN)
def test_the_window_was_closed_while_it_went_on_and_ended_well(closed, way):
    lines = closed.stdout.splitlines()
    place = lines.index(WHEN[way])
    assert lines[place + 1] == "status 0"
