"""Classes to be driven, and what comes of it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.contract.plan import Declared, plan_for
from core.contract.run_plan import Act, RunPlan
from core.contract.subject import Source
from core.driven.file import JudgedRun, judged_run
from tests.helpers.subjects import Subjects

CACHES = Path(__file__).parents[2] / "helpers" / "caches"


@pytest.fixture(scope="module")
def subjects() -> Iterator[Subjects]:
    """For classes that neither hang nor end the interpreter."""
    with Subjects() as found:
        yield found


@pytest.fixture
def driven(subjects, tmp_path) -> Callable[..., JudgedRun]:
    """Drives a class of a file of the helpers, or of a text."""

    def drive(
        source: str,
        name: str,
        capacity: int,
        *acts: Act,
        model: str = "tiny-learned",
        sinks: int | None = None,
        declared: frozenset[Declared] = frozenset(),
    ) -> JudgedRun:
        path = CACHES / f"{source}.py"
        if "\n" in source:
            path = tmp_path / "given.py"
            path.write_text(source, "utf-8")
        subject = subjects.turned_to(Source(path, name))
        plan = plan_for(subject, declared)
        if sinks is None and "sinks" in plan.surface.roles:
            sinks = 0
        return judged_run(subject, plan, RunPlan(model, capacity, sinks, acts))

    return drive
