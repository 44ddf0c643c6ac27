"""Five hundred acts in any order leave no error, no warning, no thread and no timer."""

import os

import pytest
from PySide6.QtCore import QTimer

from tests.app.desk import PATIENCE_MS
from tests.app.monkey import Monkey, no_dialogs

N_ACTS = int(os.environ.get("KVSCOPE_MONKEY_ACTS", "500"))
SEED = int(os.environ.get("KVSCOPE_MONKEY_SEED", "1"))
"""KVSCOPE_MONKEY_SEED=7 pytest tests/app/test_monkey.py: another order."""


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_a_monkey_breaks_nothing(sit_down, start_run, qtbot, qtlog, monkeypatch, tmp_path):
    no_dialogs(monkeypatch, tmp_path)
    desk = sit_down(start_run)
    monkey = Monkey(desk, SEED)
    with qtbot.captureExceptions() as errors:
        while monkey.n_done < N_ACTS:
            monkey.act()
            warned = [record.message for record in qtlog.records if not record.ignored]
            assert not errors, f"{errors[0][1]!r}\n{monkey.account}"
            assert not warned, f"{warned}\n{monkey.account}"
        desk.control.player.pause()
        desk.control.situation_changed.emit()
        waited = monkey.account
        qtbot.waitUntil(lambda: not desk.control.situation().is_busy, timeout=PATIENCE_MS)
    assert not errors, waited
    told = desk.window.message_bar.text
    assert "something went wrong" not in told, waited
    desk.leave()
    owners = (desk.window, desk.control)
    timers = [timer for owner in owners for timer in owner.findChildren(QTimer)]
    qtbot.waitUntil(lambda: not any(timer.isActive() for timer in timers))
