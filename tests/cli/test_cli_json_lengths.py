"""Lists "per new token" are as long as the tokens that were read, or that should have been."""

import json

import pytest

from app import cli

FOUND = ("position_ids", "visible", "readable")
EXPECTED = ("expected_position_ids", "expected_visible", "expected_readable")


@pytest.mark.parametrize(
    ("fault", "n_read", "n_demanded"), [("cap-early", 0, 1), ("cap-late", 1, 0)]
)
def test_where_the_outcome_is_wrong_the_lengths_differ_and_it_is_the_first_difference(
    capsys, fault, n_read, n_demanded
):
    assert cli.main(["run", "--fault", fault, "--json"]) == 0
    steps = [json.loads(line) for line in capsys.readouterr().out.splitlines()[1:-1]]
    uneven = [step for step in steps if len(step["visible"]) != len(step["expected_visible"])]
    assert uneven
    for step in uneven:
        assert len(step["token_ids"]) == n_read
        assert [len(step[name]) for name in FOUND] == [n_read] * 3
        assert [len(step[name]) for name in EXPECTED] == [n_demanded] * 3
        assert (step["outcome"] == "ok", step["expected_outcome"] == "ok") == (
            n_read == 1,
            n_demanded == 1,
        )
        assert step["verdict"]["first_difference"]["field"] == "outcome"
