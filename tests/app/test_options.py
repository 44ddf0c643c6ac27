"""What the command line of the window accepts, and what it says of the rest."""

from pathlib import Path

import pytest

from app.options import window_arguments


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bogus"], "FILE: there is no file 'bogus', nor a command of that name"),
        (["bogus", "--foo"], "FILE: there is no file 'bogus', nor a command of that name"),
        (["--layout", "big"], "--layout: invalid choice: 'big'"),
        (["--foo"], "unrecognized arguments: --foo"),
        (["--step", "x"], "--step: a step is a whole number from 0 on, not 'x'"),
        (["--fault"], "--fault: expected one argument"),
        (["a\nb"], "'a\\nb'"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_used_is_told_in_one_line_with_status_2(arguments, said, capsys):
    with pytest.raises(SystemExit) as left:
        window_arguments(arguments)
    captured = capsys.readouterr()
    assert (left.value.code, captured.out) == (2, "")
    assert captured.err.startswith("kvscope: ")
    assert captured.err.endswith("(see kvscope --help)\n")
    assert captured.err.count("\n") == 1
    assert said in captured.err


def test_an_unknown_option_after_a_file_is_named(tmp_path, capsys):
    path = tmp_path / "run.kvtrace"
    path.touch()
    with pytest.raises(SystemExit):
        window_arguments([str(path), "--foo"])
    assert "unrecognized arguments: --foo" in capsys.readouterr().err
    assert Path(window_arguments([str(path), "--step", "3"]).file) == path
