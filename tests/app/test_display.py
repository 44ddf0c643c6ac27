import os
import subprocess
import sys

import pytest

from tests.app.program import ROOT


@pytest.mark.parametrize(
    ("more", "cause"),
    [
        ({"QT_QPA_PLATFORM": "nonesuch"}, 'Qt platform plugin "nonesuch"'),
        # Which of its causes Qt tells first hangs on what the machine has.
        ({"QT_QPA_PLATFORM": "xcb", "DISPLAY": ":4711"}, "ould not"),
    ],
    ids=["unknown platform", "display that does not answer"],
)
def test_without_a_display_the_program_ends_with_one_line_and_status_2(tmp_path, more, cause):
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "PYTHONPATH": str(ROOT), **more}
    ended = subprocess.run(
        [sys.executable, "-m", "app"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert line.startswith("kvscope: no window can be shown")
    assert cause in line
