from dataclasses import replace

import pytest

from app.widgets.code_lines import (
    FOLDED_DOCS,
    ShownLine,
    below_each_other,
    beside_each_other,
    broken,
)
from app.widgets.python_style import Span, styled_lines
from core.faults.catalog import FAULTS
from core.faults.fault import Fault
from core.readouts.code import CodeSection, code_readout
from tests.core.readouts.runs import FULL, PLAIN, view_of, with_fault

WIDE = 200


def section(fault: str | None) -> CodeSection:
    spec = PLAIN if fault is None else with_fault(PLAIN, fault)
    readout = code_readout(view_of(spec, 1))
    return readout.section(readout.first)


def test_a_docstring_over_several_lines_is_faint_to_its_end() -> None:
    lines = styled_lines('def f():\n    """One.\n\n    Two.\n    """\n    return None  # three')
    voices = [{span.voice for span in line if span.text.strip()} for line in lines]
    assert voices == [
        {"bold", "plain"},
        {"faint"},
        set(),
        {"faint"},
        {"faint"},
        {"bold", "faint"},
    ]


def test_where_a_text_is_no_python_the_rest_of_it_is_plain() -> None:
    lines = styled_lines("if x:  # so\n    y = (\n    return 1\n]")
    assert ["".join(span.text for span in line) for line in lines] == [
        "if x:  # so",
        "    y = (",
        "    return 1",
        "]",
    ]
    assert lines[0] == (Span("if", "bold"), Span(" x:  ", "plain"), Span("# so", "faint"))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_the_styled_lines_are_the_text_itself(fault: Fault) -> None:
    shown = section(fault.id)
    for source in (shown.faulty, shown.correct):
        assert source is not None
        lines = ["".join(span.text for span in line) for line in styled_lines(source.text)]
        assert lines == source.text.splitlines()


def test_below_each_other_the_changed_lines_have_signs_and_marks() -> None:
    shown = section("pos-restart")
    assert shown.faulty is not None
    lines = below_each_other(shown, WIDE, folds="docs")
    assert [(line.sign, line.mark, line.text) for line in lines[2:]] == [
        ("", "none", shown.faulty.text.splitlines()[0]),
        ("", "none", FOLDED_DOCS),
        ("−", "wrong", "    return np.arange(n_new)"),
        ("+", "right", "    return np.arange(past_len, past_len + n_new)"),
    ]
    assert lines[0].text.startswith("runs: core/faults/pos_restart.py:")
    assert lines[1].text.startswith("right: core/engine/seams.py:")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_unfolded_each_line_of_the_faulty_function_is_shown_and_each_changed_one(
    fault: Fault,
) -> None:
    shown = section(fault.id)
    texts = [line.text for line in below_each_other(shown, WIDE, folds="nothing")]
    assert shown.faulty is not None
    assert [text for text in texts if text in shown.faulty.text.splitlines()] != []
    for line in shown.faulty.text.splitlines():
        assert line in texts
    for row in shown.rows:
        if row.correct is not None and (row.is_changed or row.part == "doc"):
            assert shown.correct.text.splitlines()[row.correct] in texts


def test_beside_each_other_both_columns_have_as_many_lines_whatever_the_width() -> None:
    for fault in ("cap-counter-first", "store-alias-in", "store-uneven"):
        for n_columns in (20, 45, 80):
            left, right = beside_each_other(section(fault), n_columns, folds="docs")
            assert len(left) == len(right)
            assert {line.mark for line in left} == {"none", "wrong"}
            assert {line.mark for line in right} == {"none", "right"}


def test_a_single_function_has_neither_signs_nor_marks() -> None:
    lines = below_each_other(section(None), WIDE, folds="docs")
    assert {(line.sign, line.mark) for line in lines} == {("", "none")}
    assert any(line.text.endswith("…") for line in lines)


@pytest.mark.parametrize("n_columns", [16, 20, 33, 45, 70])
def test_a_broken_line_fits_and_loses_no_letter(n_columns: int) -> None:
    text = "        return counted, Refused(needed, ledger.capacity - ledger.length)"
    parts = list(broken(ShownLine((Span(text[:20]), Span(text[20:], "bold")), "−"), n_columns))
    assert all(len(part.text) <= n_columns for part in parts)
    joined = parts[0].text + "".join(part.text.lstrip() for part in parts[1:])
    assert joined.replace(" ", "") == text.replace(" ", "")
    assert [part.goes_on for part in parts] == [False, *[True] * (len(parts) - 1)]


def test_a_line_that_fits_is_not_broken() -> None:
    line = ShownLine((Span("    return 1"),), "+", "right")
    assert list(broken(line, 16)) == [line]
    assert list(broken(replace(line, spans=()), 16)) == [replace(line, spans=())]


def test_a_refused_step_still_shows_the_code() -> None:
    readout = code_readout(view_of(with_fault(FULL, "pos-restart"), 6))
    shown = readout.section(readout.first)
    assert shown.values == ()
    assert len(below_each_other(shown, WIDE, folds="docs")) == 6
