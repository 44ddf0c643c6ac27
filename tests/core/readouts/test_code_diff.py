from core.readouts.code_diff import diff_rows, plain_rows, unified

RIGHT = '''def admit(ledger, append):
    """Check first, then count.

    A refused append changes nothing.
    """
    if append.n_lacking > 0:
        return ledger, "refused"
    return ledger.count(append), "ok"'''
WRONG = '''def count_then_check(ledger, append):
    """Count first."""
    counted = ledger.count(append)
    if append.n_lacking > 0:
        return counted, "refused"
    return counted, "ok"'''


def drawn(wrong: str, right: str) -> list[str]:
    """As a patch is written; "~" marks lines that are each side's own but change nothing."""
    lines = {"faulty": wrong.splitlines(), "correct": right.splitlines()}
    signs = {"faulty": "-", "correct": "+"}
    return [
        (" " if each.is_shared else signs[each.side] if each.is_changed else "~")
        + lines[each.side][each.place]
        for each in unified(diff_rows(wrong, right))
    ]


def test_only_lines_that_run_and_differ_are_marked() -> None:
    """A table made by hand: the docstrings and the names differ, and are not marked."""
    assert drawn(WRONG, RIGHT) == [
        " def count_then_check(ledger, append):",
        '~    """Count first."""',
        '~    """Check first, then count.',
        "~",
        "~    A refused append changes nothing.",
        '~    """',
        "-    counted = ledger.count(append)",
        "     if append.n_lacking > 0:",
        '-        return counted, "refused"',
        '-    return counted, "ok"',
        '+        return ledger, "refused"',
        '+    return ledger.count(append), "ok"',
    ]


def test_each_line_of_both_functions_stands_in_the_rows_once_and_in_order() -> None:
    rows = diff_rows(WRONG, RIGHT)
    faulty = [row.faulty for row in rows if row.faulty is not None]
    correct = [row.correct for row in rows if row.correct is not None]
    assert faulty == list(range(len(WRONG.splitlines())))
    assert correct == list(range(len(RIGHT.splitlines())))


def test_lines_that_are_equal_stand_beside_each_other() -> None:
    wrong, right = WRONG.splitlines(), RIGHT.splitlines()
    for row in diff_rows(WRONG, RIGHT):
        if row.part == "body" and not row.is_changed:
            assert row.faulty is not None
            assert row.correct is not None
            assert wrong[row.faulty] == right[row.correct]


def test_other_parameters_are_a_change() -> None:
    assert drawn("def f(a):\n    return 1", "def g(a, b):\n    return 1") == [
        "-def f(a):",
        "+def g(a, b):",
        "     return 1",
    ]


def test_the_same_parameters_over_several_lines_are_none() -> None:
    wrong = "def a_long_name(\n    a: int,\n    b: int,\n) -> int:\n    return 1"
    right = "def g(a: int, b: int) -> int:\n    return 2"
    assert drawn(wrong, right) == [
        " def a_long_name(",
        "     a: int,",
        "     b: int,",
        " ) -> int:",
        "-    return 1",
        "+    return 2",
    ]


def test_a_text_that_is_no_function_is_all_body() -> None:
    assert drawn("f = lambda a: (a,", "def g(a):\n    return a") == [
        "+def g(a):",
        "-f = lambda a: (a,",
        "+    return a",
    ]


def test_a_single_function_has_no_marks() -> None:
    lines = unified(plain_rows(RIGHT))
    assert [line.place for line in lines] == list(range(8))
    assert not any(line.is_changed for line in lines)
    assert [line.part for line in lines] == ["head", *["doc"] * 4, *["body"] * 3]
