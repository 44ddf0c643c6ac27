"""PySide's look into every module that is imported: taken off when the window is started."""

import pytest

from tests.app.program import run_code

IMPORT_ONE = """
import linecache
from app.plain_imports import take_hook_off

for _ in range({times}):
    take_hook_off()
import colorsys
print(colorsys.__file__ in linecache.cache)
"""


@pytest.mark.parametrize("times", [1, 2])
def test_the_source_of_a_module_is_not_read_once_the_hook_is_off(tmp_path, times):
    done = run_code(tmp_path, IMPORT_ONE.format(times=times))
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_pyside_has_such_a_hook_until_then(tmp_path):
    """Where this fails, PySide has changed, and `app.plain_imports` may go."""
    done = run_code(tmp_path, IMPORT_ONE.format(times=0))
    assert (done.stdout, done.stderr) == ("True\n", "")
