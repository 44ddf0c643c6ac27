"""A fault that is switched on is the same after it was written and read."""

import pytest

from core.errors import FaultError
from core.faults.use_text import text_of, use_of
from core.spec import FaultUse

TEXTS = {
    "pos-restart": FaultUse("pos-restart"),
    "pos-restart@2": FaultUse("pos-restart", 2),
    "pos-restart@0-0": FaultUse("pos-restart", 0, 0),
    "pos-restart@2-5": FaultUse("pos-restart", 2, 5),
    "mask-top-left:layers=0,2": FaultUse("mask-top-left", layers=(0, 2)),
    "mask-top-left@1-3:layers=1": FaultUse("mask-top-left", 1, 3, (1,)),
}


@pytest.mark.parametrize(("text", "use"), TEXTS.items(), ids=TEXTS)
def test_a_use_is_read_and_written_with_its_steps_and_layers(text, use):
    assert use_of(text) == use
    assert text_of(use) == text


@pytest.mark.parametrize(
    "text", ["", "a@", "a@x", "a:layers=", "a:layers=1,", "a:layer=1", "a@1:2"]
)
def test_another_form_is_refused_with_those_that_there_are(text):
    with pytest.raises(FaultError, match="is not of the form ID, ID@FROM"):
        use_of(text)


def test_steps_that_end_before_they_begin_are_refused_with_the_order_that_would_do():
    with pytest.raises(FaultError, match="write @3-5"):
        use_of("a@5-3")


def test_a_layer_that_is_named_twice_is_refused_with_the_list_that_would_do():
    with pytest.raises(
        FaultError, match=r"^gqa-tile: layers=1,0,1 names a layer twice; write layers=0,1$"
    ):
        use_of("gqa-tile:layers=1,0,1")
