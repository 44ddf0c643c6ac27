"""The scenarios of faults, for the tiny models."""

from dataclasses import replace

from core.faults.fault import Scenario
from core.spec import FaultUse, RunSpec
from tests.helpers.runs import SEVEN_IDS


def scenario_spec(
    scenario: Scenario, scheme: str, *uses: FaultUse, dtype: str = "float64"
) -> RunSpec:
    """A scenario for a tiny model, its prompt replaced by seven token ids."""
    spec = scenario.spec(lambda _: SEVEN_IDS)
    return replace(spec, model=f"tiny-{scheme}", dtype=dtype, faults=uses)
