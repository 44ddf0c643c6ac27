import subprocess
import sys
from dataclasses import replace

from core.faults.shelf import shelf
from core.readouts.lesson import lesson_readout
from core.spec import FaultUse, RunSpec
from tests.core.readouts.runs import PLAIN, view_of, with_fault


def read(spec: RunSpec):
    """The readout of a run as if it had the faults of a spec: the records take no part in it."""
    return lesson_readout(replace(view_of(PLAIN, 0), spec=spec), shelf())


def test_the_lesson_is_that_of_the_fault_that_is_on():
    (topic,) = read(with_fault(PLAIN, "store-alias-in")).topics
    assert topic.lesson.id == "store-alias-in"


def test_beside_a_lesson_stands_the_rule_of_its_seam():
    (rule,) = read(with_fault(PLAIN, "store-alias-in")).rules
    assert (rule.seam, rule.faults[:2]) == ("store", ("store-row-zero", "store-alias-in"))


def test_several_faults_have_their_lessons_in_the_order_of_the_spec():
    found = read(with_fault(PLAIN, "mask-top-left", "cap-early"))
    assert [topic.fault for topic in found.topics] == ["mask-top-left", "cap-early"]
    assert [rule.seam for rule in found.rules] == ["causal_mask", "overflow"]


def test_a_combination_has_the_lessons_of_its_members_each_once():
    found = read(with_fault(PLAIN, "both-bugs", "pos-restart"))
    assert [topic.fault for topic in found.topics] == ["pos-restart", "mask-top-left"]


def test_without_a_fault_there_are_the_rules_of_all_seams():
    found = read(PLAIN)
    assert found.topics == ()
    assert found.rules == shelf().rules


def test_a_fault_that_nobody_knows_is_passed_over():
    found = read(replace(PLAIN, faults=(FaultUse("my-own-fault"),)))
    assert found == read(PLAIN)


def test_lessons_load_without_torch_and_without_qt():
    made = "from core.faults.shelf import shelf; import core.readouts.lesson; shelf()"
    check = "import sys; print([m for m in ('torch', 'PySide6') if m in sys.modules])"
    done = subprocess.run(  # noqa: S603  (our own words)
        [sys.executable, "-c", f"{made}; {check}"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
