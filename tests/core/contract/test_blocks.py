"""Rules 39 and 40: a pool of blocks, right and with one change."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.contract.check import check
from core.contract.plan import plan_for
from core.contract.subject import NotDrivableError, Source, Subject
from core.contract.written_tests import test_file as text_of_tests
from tests.helpers.subjects import Subjects

HELPERS = Path(__file__).parents[2] / "helpers"
PAGED, ADAPTER = HELPERS / "caches" / "paged.py", HELPERS / "adapters" / "paged.py"


@pytest.fixture(scope="module")
def asked():
    """The verdicts of the class in a file, by rule."""
    with Subjects() as subjects:

        def verdicts(path, only=()):
            subject = subjects.turned_to(Source(path, "Text", adapter=ADAPTER))
            found = check(subject, plan_for(subject, frozenset()), only)
            return {verdict.rule: verdict for verdict in found}

        yield verdicts


def test_a_right_pool_breaks_no_rule(asked):
    found = asked(PAGED)
    assert [n for n, verdict in found.items() if verdict.state in ("fail", "follows")] == []
    assert (found[39].state, found[40].state) == ("pass", "pass")


FAULTS = [
    (
        "shared blocks are written to", "for at in copied:", "for at in []:", 40,
        ["append 4 rows", "fork: another text that begins as this one", "truncate to 3",
         "append 1 row", "go on with the other text", "read"], "[0, 1, 2, 3]", "[0, 1, 2, 20]",
    ),
    (
        "truncating keeps the blocks", "len(self.table) > -(-n // self.pool.size)", "False", 39,
        ["append 1 row", "truncate to 0", "look at the blocks"],
        "0 owned, of 4 rows, for 0 rows", "1 owned",
    ),
    (
        "a block is taken too early", "-(-end // pool.size)", "end // pool.size + 1", 39,
        ["look at the blocks", "append 3 rows", "append 5 rows", "look at the blocks"],
        "2 owned, of 4 rows, for 8 rows", "3 owned",
    ),
    (
        "a block is free twice", "enumerate(self.owners) if n == 0]",
        "enumerate(self.owners) if n == 0] + [0] * (self.owners[0] < 1)", 39,
        ["look at the blocks"], "each block free, or owned once", "0 is free twice",
    ),
    (
        "a block that goes is lost", "self.pool.owners[self.table.pop()] -= 1", "self.table.pop()",
        39, ["look at the blocks", "append 1 row", "truncate to 0", "look at the blocks"],
        "6 blocks in all", "5 free and 0 owned",
    ),
    (
        "whole blocks are read", "[:n].copy()", ".copy()", 4,
        ["append 1 row", "read"], "1 row", "4 rows: [0, zeros × 3]",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "rule", "calls", "expected", "said"),
    [row[1:] for row in FAULTS],
    ids=[row[0] for row in FAULTS],
)
def test_a_fault_of_a_pool_is_found_in_few_calls(
    asked, tmp_path, old, new, rule, calls, expected, said
):
    text = PAGED.read_text("utf-8")
    assert text.count(old) == 1
    path = tmp_path / "theirs.py"
    path.write_text(text.replace(old, new), encoding="utf-8")
    verdict = asked(path)[rule]
    assert verdict.state == "fail"
    assert verdict.case.words()[1:] == calls
    assert (verdict.found.expected, verdict.found.found) == (expected, said)


def test_tests_are_written_of_blocks_too(tmp_path):
    old, new = FAULTS[1][1:3]
    path = tmp_path / "theirs.py"
    path.write_text(PAGED.read_text("utf-8").replace(old, new), encoding="utf-8")
    source = Source(path, "Text", adapter=ADAPTER)
    with Subject(source) as subject:
        plan = plan_for(subject, frozenset())
        text = text_of_tests(source, plan, check(subject, plan, (39,)), tmp_path)
    (tmp_path / "test_theirs.py").write_text(text, encoding="utf-8")
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    assert subprocess.run(run, cwd=tmp_path, env=alone, check=False).returncode == 1  # noqa: S603
    path.write_text(PAGED.read_text("utf-8"), encoding="utf-8")
    assert subprocess.run(run, cwd=tmp_path, env=alone, check=False).returncode == 0  # noqa: S603


def test_of_a_class_that_shows_no_blocks_they_are_not_asked_and_the_report_says_why():
    with Subject(Source(HELPERS / "caches" / "contiguous.py", "KVCache")) as subject:
        (found,) = check(subject, plan_for(subject, frozenset()), (39,))
    assert (found.state, found.why) == (
        "not_offered",
        "it shows no blocks of a pool; an adapter with blocks() and block_size can",
    )


def test_blocks_of_no_size_are_told(tmp_path):
    path = tmp_path / "adapter.py"
    text = ADAPTER.read_text("utf-8")
    path.write_text(text.replace('layout, block_size = "nhd", 4', 'layout = "nhd"'), "utf-8")
    with pytest.raises(NotDrivableError, match=r"PagedAdapter has blocks\(\) and no block_size"):
        Subject(Source(PAGED, "Text", adapter=path))
