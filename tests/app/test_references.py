"""PySide6 6.12.0 on Python 3.11 loses a reference to True and None in each call (PYSIDE-3474).

A few hundred calls are enough to see it; some thousand would abort the process instead.
"""

import sys
from collections.abc import Callable

import pytest
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QLabel

# Other code may take or give back a few references meanwhile; the fault costs one per call.
SLACK = 20


class Emitter(QObject):
    fired = Signal(bool)


def references_lost(call: Callable[[], object], times: int) -> tuple[int, int]:
    """References to True and to None that so many calls have used up."""
    before = sys.getrefcount(True), sys.getrefcount(None)
    for _ in range(times):
        call()
    after = sys.getrefcount(True), sys.getrefcount(None)
    return before[0] - after[0], before[1] - after[1]


@pytest.mark.parametrize(
    "connection",
    [Qt.ConnectionType.DirectConnection, Qt.ConnectionType.QueuedConnection],
    ids=["direct", "queued"],
)
def test_300_emits_use_up_no_reference_to_true_or_none(qapp, connection):
    emitter = Emitter()
    received: list[int] = []
    emitter.fired.connect(lambda: received.append(1), connection)

    def emit() -> None:
        emitter.fired.emit(True)
        qapp.processEvents()

    lost_true, lost_none = references_lost(emit, times=300)
    assert len(received) == 300
    assert abs(lost_true) < SLACK
    assert abs(lost_none) < SLACK


def test_200_void_calls_use_up_no_reference_to_none(qtbot):
    label = QLabel()
    qtbot.addWidget(label)
    lost_true, lost_none = references_lost(lambda: label.setText("a"), times=200)
    assert abs(lost_true) < SLACK
    assert abs(lost_none) < SLACK
