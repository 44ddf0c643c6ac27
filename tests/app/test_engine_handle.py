"""The worker's thread: where the engine is made, how it is stopped, that it ends."""

import gc
import threading

from PySide6.QtCore import QObject, Signal, SignalInstance, Slot

from app.draft import Draft
from app.engine_handle import EngineHandle
from tests.app.fakes import FakeBackend

DRAFT = Draft("learned", "ab")
LIMIT_MS = 5000
ENDLESS = 10**9


class Relay(QObject):
    """Hands a signal on in the thread of the test: a waiter of pytest-qt has a timer there."""

    told = Signal(object)

    def __init__(self, signal: SignalInstance) -> None:
        super().__init__()
        signal.connect(self._tell)

    @Slot(object)
    def _tell(self, message: object) -> None:
        self.told.emit(message)


def loaded(qtbot, make_backend) -> EngineHandle:
    """A handle whose engine is there."""
    handle = EngineHandle(make_backend)
    ready = Relay(handle.worker.ready)
    with qtbot.waitSignal(ready.told):
        handle.load()
    return handle


def test_the_engine_is_made_in_a_thread_of_its_own(qtbot):
    made: list[FakeBackend] = []

    def make() -> FakeBackend:
        made.append(FakeBackend())
        return made[0]

    handle = loaded(qtbot, make)
    assert made[0].thread is not threading.main_thread()
    assert handle.close(LIMIT_MS)


def test_closing_in_the_middle_of_a_run_ends_the_thread(qtbot):
    is_running = threading.Event()
    handle = loaded(qtbot, lambda: FakeBackend(ENDLESS, before_step=lambda step: is_running.set()))
    handle.start(DRAFT, ENDLESS)
    assert is_running.wait(5)
    assert handle.close(LIMIT_MS)


def test_a_new_start_stops_the_run_in_progress(qtbot):
    is_running = threading.Event()
    handle = loaded(qtbot, lambda: FakeBackend(ENDLESS, before_step=lambda step: is_running.set()))
    handle.start(DRAFT, ENDLESS)
    assert is_running.wait(5)
    idle = Relay(handle.worker.idle)
    with qtbot.waitSignal(idle.told, check_params_cb=lambda idle: idle.run_id == 2):
        assert handle.start(DRAFT, 1) == 2
    assert handle.close(LIMIT_MS)


def test_python_collects_in_the_window_s_thread_only_while_the_engine_s_runs(qtbot):
    handle = EngineHandle(FakeBackend)
    assert not gc.isenabled()
    assert handle.close(LIMIT_MS)
    assert gc.isenabled()


def test_a_step_that_does_not_end_in_time_is_said_so(qtbot):
    may_go_on, is_running = threading.Event(), threading.Event()

    def hang(step: int) -> None:
        is_running.set()
        may_go_on.wait(5)

    handle = loaded(qtbot, lambda: FakeBackend(before_step=hang))
    handle.start(DRAFT, 1)
    assert is_running.wait(5)
    assert not handle.close(1)
    may_go_on.set()
    assert handle.close(LIMIT_MS)
