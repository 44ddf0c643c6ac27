"""The scenarios as people run them: with their own model and the prompt as text."""

from dataclasses import replace
from functools import cache

import pytest

from core.faults.catalog import FAULTS
from core.faults.fault import Scenario
from core.model.loading import LoadedModel, load_model
from core.spec import FaultUse
from tests.helpers.runs import Judged, judged

loaded_by_name = cache(load_model)


def _loaded(scenario: Scenario) -> LoadedModel:
    return loaded_by_name(scenario.model)


def _run(scenario: Scenario, *uses: FaultUse) -> Judged:
    loaded = _loaded(scenario)
    return judged(replace(scenario.spec(loaded.tokenizer.encode), faults=uses), loaded)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_the_prompt_of_a_scenario_has_seven_tokens(fault):
    assert len(_loaded(fault.shows_in).tokenizer.encode(fault.shows_in.prompt)) == 7


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_the_model_of_a_scenario_shows_its_fault_as_promised(fault):
    found = _run(fault.shows_in, FaultUse(fault.id))
    assert found.wrong_steps[0] == fault.promise.step
    assert found.verdicts[fault.promise.step].first_difference.field == fault.promise.field
    assert (found.wrong_logits or [None])[0] == fault.promise.first_wrong_logits


@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault.hides_in], ids=lambda fault: fault.id
)
def test_the_model_is_right_where_a_fault_hides(fault):
    assert _run(fault.hides_in, FaultUse(fault.id)).wrong_steps == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_the_model_of_a_scenario_is_right_without_the_fault(fault):
    assert _run(fault.shows_in).wrong_steps == []
