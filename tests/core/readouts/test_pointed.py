"""What the mouse is over, in words."""

import pytest

from core.readouts.pointed import pointed_words
from core.selection import Selection
from tests.core.readouts.runs import PLAIN, PROMPT_IDS, view_of


@pytest.fixture
def view():
    return view_of(PLAIN, step=2)


def test_a_token_is_named_with_its_text_and_its_position(view):
    text = view.token_text(PROMPT_IDS[1])
    words = pointed_words(view, Selection(step=2, token_index=1, slot=1))
    assert words == f"token 1 '{text}' · slot 1 · position 1"


def test_a_position_that_the_view_names_is_not_looked_up(view):
    words = pointed_words(view, Selection(step=2, token_index=1, position_id=0))
    assert words.endswith("position 0")


def test_layer_head_and_step_are_named_where_they_are_others(view):
    assert pointed_words(view, Selection(step=2, layer=1)) == "layer 1"
    assert pointed_words(view, Selection(step=2, head=1)) == "head 1"
    assert pointed_words(view, Selection(step=1)) == "step 1"


def test_a_token_that_is_not_read_yet_has_no_text(view):
    assert pointed_words(view, Selection(step=2, token_index=11)) == "token 11"
