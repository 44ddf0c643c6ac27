"""A row that is read twice, and a query that is rejected, as mask and attention show them."""

from dataclasses import replace

from PySide6.QtCore import QPointF

from app.theme import LIGHT
from tests.app.views.slots_shown import MakeThree, canvas_of, middle, picture, pixels
from tests.core.readouts.runs import PLAIN, VERIFIED, view_of, with_fault

DOUBLED = with_fault(replace(PLAIN, capacity=64), "store-double-append")
SIZE = (2000, 300)


def test_a_slot_that_is_read_twice_is_framed_as_wrong_and_says_so(three: MakeThree) -> None:
    view = view_of(DOUBLED, 2)
    mask = three(view, SIZE).mask
    shown = pixels(picture(mask))
    alarm = [
        int((shown[:, (x := middle(mask, slot, 0).x()) - 8 : x + 9] == LIGHT.alarm.rgb()).sum())
        for slot in (3, 7, 9)
    ]
    assert alarm[0] > 0
    assert alarm[1:] == [0, 0]
    hit = canvas_of(mask).hit(QPointF(middle(mask, 3, 12)))
    assert hit is not None
    assert hit.tip.endswith("\nread 2 times, seen 2 times\nshould be seen once")
    once = canvas_of(mask).hit(QPointF(middle(mask, 7, 12)))
    assert once is not None
    assert once.tip.endswith("\nseen")


def test_the_hover_of_a_key_read_twice_gives_the_weights_of_both_together(
    three: MakeThree,
) -> None:
    view = view_of(DOUBLED, 2)
    attention = three(view, SIZE).attention
    told = view.records[2].layers[0]
    weight = told.weights[0, 0, 3] + told.weights[0, 0, 10]
    canvas = canvas_of(attention)
    at = middle(attention, 3, canvas.row_middle(canvas.n_rows() - 1))
    hit = canvas.hit(QPointF(at))
    assert hit is not None
    assert hit.tip.endswith(f", 2 rows\nweights {float(weight)!r} together")


def test_the_hover_of_the_newest_row_names_the_query_that_the_sentence_speaks_of(
    three: MakeThree,
) -> None:
    views = three(view_of(VERIFIED, 2), SIZE)
    canvas = canvas_of(views.attention)
    hit = canvas.hit(QPointF(middle(views.attention, 9, canvas.row_middle(canvas.n_rows() - 1))))
    assert hit is not None
    assert "query: token 9 ‘A’, step 2" in hit.tip
    told = view_of(VERIFIED, 2).records[2].layers[0]
    assert f"weight {float(told.weights[0, 1, 9])!r}" in hit.tip


def test_columns_of_rows_read_twice_are_marked_above_the_attention(three: MakeThree) -> None:
    attention = three(view_of(DOUBLED, 2), SIZE).attention
    shown = pixels(picture(attention))[:6]
    is_marked = [
        bool((shown[:, middle(attention, slot, 0).x()] == LIGHT.alarm.rgb()).any())
        for slot in range(9)
    ]
    assert is_marked == [True] * 7 + [False, False]
