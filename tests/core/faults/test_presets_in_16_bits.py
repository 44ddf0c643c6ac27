"""The presets in 16-bit number types: `tests/benchmarks/PRESETS_16BIT.md` tells what says so."""

import pytest

from core.faults.catalog import FAULTS
from core.spec import FaultUse
from tests.helpers.runs import judged
from tests.helpers.scenarios import scenario_spec


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(("fault", "scheme"), [(f, s) for f in FAULTS for s in f.schemes])
def test_a_fault_is_called_wrong_at_its_first_wrong_step(fault, scheme, dtype):
    run = judged(scenario_spec(fault.shows_in, scheme, FaultUse(fault.id), dtype=dtype))
    assert run.wrong_steps[0] == fault.promise.step
