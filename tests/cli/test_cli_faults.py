"""What `kvscope faults` says of every fault."""

import json

import pytest

from app import cli
from core.faults.catalog import FAULTS
from core.trace_json import to_json


@pytest.fixture
def printed(capsys):
    def run(*arguments: str) -> str:
        assert cli.main(["faults", *arguments]) == 0
        return capsys.readouterr().out

    return run


def test_a_fault_says_what_shows_it_and_what_hides_it(printed):
    paragraph = next(t for t in printed().split("\n\n") if t.startswith("cap-early "))
    assert [line.strip() for line in paragraph.splitlines()[1:]] == [
        "seam overflow, tier A",
        "shown by: model learned, refuse, capacity 12, prompt 'Mia outside. Sam inside. Where' "
        "(' is Mia?' is forced after it), then 6 × decode",
        "hidden: the cache never fills",
    ]


def test_each_scenario_that_hides_a_fault_is_in_the_json_with_the_reason(printed):
    rows = {row["id"]: row for row in map(json.loads, printed("--json").splitlines())}
    for fault in FAULTS:
        hidden = None if fault.hides_in is None else json.loads(json.dumps(to_json(fault.hides_in)))
        assert rows[fault.id]["hides_in"] == hidden
        assert rows[fault.id]["why_hidden"] == fault.why_hidden
    assert "why_hidden" not in rows["both-bugs"]
