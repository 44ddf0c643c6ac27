import signal

import pytest


@pytest.fixture
def ctrl_c_is_heard():
    """Ctrl+C is heard, here and by programs that are started: a background job would not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
