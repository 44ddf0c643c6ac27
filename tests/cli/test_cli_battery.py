"""`kvscope battery` as a person calls it."""

import ast
import json
import shlex

import pytest

from app.cli import main
from core.battery.checks import broken, check_law

CASE = "law=chunks model=tiny-rope policy=window prompt=1,2,3"
FEW = ("battery", "--only", "chunks", "--model", "tiny-rope", "--most", "12")


def lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_without_a_fault_all_laws_hold_and_the_status_is_0(capsys):
    assert main(FEW) == 0
    out = capsys.readouterr().out
    assert "chunks              holds in" in out
    assert "the law holds in 12 cases" in out


def test_a_law_that_says_nothing_is_not_counted_as_one_that_holds(capsys):
    assert main(["battery", "--only", "rewind", "--most", "3"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[-1].startswith("says nothing") for line in out[:2]] == [True, False]
    assert out[-1] == "the law holds in 3 cases; 1 says nothing here"


def test_a_fault_has_status_1_and_the_command_that_is_printed_repeats_it(capsys):
    assert main([*FEW, "--fault", "mask-own-chunk"]) == 1
    out = capsys.readouterr().out
    command = next(line for line in out.splitlines() if "kvscope battery --case" in line)
    assert main(shlex.split(command)[1:]) == 1
    repeated = capsys.readouterr().out
    assert "broken in 1 of 1 case:" in repeated
    assert command.strip() in repeated
    without_fault = shlex.split(command)[1:-2]
    assert main(without_fault) == 0


def test_json_has_a_line_for_each_law_and_failure_and_an_end(capsys):
    assert main([*FEW, "--only", "slots", "--fault", "mask-own-chunk", "--json"]) == 1
    found = lines(capsys.readouterr().out)
    kinds = [line["kind"] for line in found]
    assert kinds == ["battery", "law", "failure", "law", "law", "law", "end"]
    assert found[0]["faults"] == ["mask-own-chunk"]
    assert found[2]["case"]["law"] == "chunks"
    assert found[-1]["holds"] is False


def test_the_tests_of_the_failures_are_written(capsys, tmp_path):
    path = tmp_path / "test_failures.py"
    assert main([*FEW, "--fault", "mask-own-chunk", "--write-tests", str(path)]) == 1
    assert 'FAULTS: tuple[str, ...] = ("mask-own-chunk",)' in path.read_text()
    assert str(path) in capsys.readouterr().out


def test_no_file_is_written_where_all_holds(tmp_path):
    path = tmp_path / "test_failures.py"
    assert main([*FEW, "--write-tests", str(path)]) == 0
    assert not path.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--only", "chunky"], "--only 'chunky' is not known"),
        (["--fault", "no-such"], "fault 'no-such' is not known"),
        (["--fault", "pos-restart@2"], "--fault pos-restart@2 with steps"),
        (["--fault", "pos-restart@2-3"], "leave @FROM-TO out: pos-restart"),
        (["--fault", "mask-top-left:layers=4"], "names layer 4; the model has 0 to 3"),
        (["--fault", "pos-restart:layers=1"], "leave layers= out"),
        (["--model", "no-such"], "model 'no-such' is neither"),
        (["--most", "0"], "'0' is below 1"),
        (["--case", "law=chunks"], "model= is missing"),
        (["--case", "law=x model=tiny-rope layers=1 policy=refuse capacity=1 prompt=1"], "law=x"),
        (
            ["--case", "law=slots model=tiny-rope layers=1 policy=no capacity=1 prompt=1"],
            "policy 'no' is not known",
        ),
        (["--case", f"{CASE} layers=1 capacity=0"], "capacity=0; it must be at least 1"),
        (["--case", f"{CASE} capacity=3 layers=0"], "layers=0; it must be at least 1"),
        (["--case", f"{CASE} capacity=3 layers=1 capacity=4"], "capacity= stands there twice"),
        (["--case", f"{CASE} capacity=3 layers=99"], "tiny-rope has 4: give layers=4 or fewer"),
        (
            ["--case", f"{CASE} capacity=3 layers=1", "--fault", "mask-top-left:layers=9"],
            "names layer 9; the model has 0 to 3",
        ),
        (
            ["--case", f"{CASE} capacity=3 layers=1 chunk=0"],
            "chunks says nothing of this case: chunk=0 reads the prompt whole; give chunk=1",
        ),
        (
            [
                *("--case", f"{CASE} capacity=3 layers=2 chunk=2"),
                *("--fault", "mask-top-left:layers=3"),
            ],
            "layers=2 leaves layer 3 out, which --fault names; give layers=4 or more",
        ),
        (["--write-tests", "/no/such/folder/test.py"], "/no/such/folder"),
        (["--write-tests", __file__], "is there already, and --write-tests did not write it"),
        (["--fault-file", "gone.py"], "gone.py cannot be read"),
    ],
    ids=lambda value: value[-1].removeprefix(CASE) if isinstance(value, list) else "",
)
def test_what_cannot_be_used_has_status_2_and_one_line(options, said, capsys):
    assert main(["battery", "--most", "2", *options]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1


def test_a_fault_in_a_later_layer_is_made_small_with_that_layer(capsys, tmp_path):
    written = tmp_path / "found.py"
    laws = ("--only", "chunks", "--only", "eviction-reach", "--model", "tiny-rope", "--most", "9")
    options = ("--fault", "mask-top-left:layers=1", "--write-tests", str(written))
    assert main(["battery", *laws, *options]) == 1
    out = capsys.readouterr().out
    assert "laws are broken\n" in out or "of 2 laws is broken\n" in out
    commands = [line for line in out.splitlines() if "kvscope battery --case" in line]
    assert commands
    assert all("layers=2 " in command for command in commands)
    assert main(shlex.split(commands[0])[1:]) == 1
    assert commands[0].strip() in capsys.readouterr().out
    assert 'FAULTS: tuple[str, ...] = ("mask-top-left:layers=1",)' in written.read_text()


def test_the_written_file_tests_the_fault_in_the_layers_that_were_named(capsys, tmp_path):
    written = tmp_path / "found.py"
    fault = "mask-top-left:layers=0,2"
    assert main([*FEW, "--fault", fault, "--write-tests", str(written)]) == 1
    names: dict = {}
    exec(written.read_text(encoding="utf-8"), names)  # noqa: S102 - what was written just now
    assert names["FAULTS"] == (fault,)
    with pytest.raises(AssertionError):
        names["test_chunks"]()
    said = next(line for line in capsys.readouterr().out.splitlines() if "smallest: " in line)
    case = written.read_text(encoding="utf-8").split("case = (")[1].split("    )")[0]
    found = broken(ast.literal_eval(f"({case})"), (fault,))
    assert said.split("smallest: ")[1] == found


NO_CROP = '''\
"""What goes back ends the run."""

from core.faults.own import OwnFault


def refuse(ledger, n):
    raise ValueError("no way back")


FAULT = OwnFault(id="no-way-back", title="No way back", seam="crop", function=refuse)
'''


@pytest.mark.parametrize("as_json", [False, True])
def test_what_was_found_is_summed_up_and_written_though_a_later_law_stops(
    capsys, tmp_path, as_json
):
    own, written = tmp_path / "no_crop.py", tmp_path / "found.py"
    own.write_text(NO_CROP, encoding="utf-8")
    faults = ("--fault", "mask-own-chunk", "--fault-file", str(own))
    options = (*faults, "--only", "rewind", "--write-tests", str(written))
    assert main([*FEW, *options, *(["--json"] if as_json else [])]) == 2
    captured = capsys.readouterr()
    assert "no_crop.py, line 7: the function for the seam crop raised" in captured.err
    assert "def test_chunks()" in written.read_text(encoding="utf-8")
    if as_json:
        end = lines(captured.out)[-1]
        assert (end["kind"], end["holds"], end["stopped_in"]) == ("end", False, "rewind")
    else:
        assert captured.out.splitlines()[-3:] == [
            "stopped in rewind, after 1 of 3 laws",
            "1 of 1 law is broken",
            f"tests that fail as these cases do: {written}",
        ]


def test_ctrl_c_tells_what_holds_so_far(capsys, monkeypatch):
    def stop(law, cases, bench, *, at):
        if law.id == "one-by-one":
            raise KeyboardInterrupt
        return check_law(law, cases, bench, at=at)

    monkeypatch.setattr("app.cli_battery.check_law", stop)
    assert main([*FEW, "--only", "one-by-one", "--json"]) == 130
    end = lines(capsys.readouterr().out)[-1]
    assert (end["holds"], end["checked"], end["stopped_in"]) == (None, 12, "one-by-one")


OWN = '''\
"""A chunk of a prompt does not see the chunks before it."""

from core.faults.own import OwnFault


def own_chunk(query, key, readable):
    return readable & (key <= query[:, None]) & ((key >= query[0]) | (len(query) == 1))


FAULT = OwnFault(id="blind-chunk", title="Blind", seam="causal_mask", function=own_chunk)
'''


def test_a_fault_of_ones_own_is_found_and_repeated_by_command_and_by_test(capsys, tmp_path):
    own, written = tmp_path / "blind.py", tmp_path / "found.py"
    own.write_text(OWN, encoding="utf-8")
    options = ("--fault-file", str(own), "--write-tests", str(written))
    assert main([*FEW, *options]) == 1
    out = capsys.readouterr().out
    assert "with blind-chunk\n" in out
    command = next(line for line in out.splitlines() if "kvscope battery --case" in line)
    assert main(shlex.split(command)[1:]) == 1
    names: dict = {}
    exec(written.read_text(encoding="utf-8"), names)  # noqa: S102 - what was written just now
    with pytest.raises(AssertionError):
        names["test_chunks"]()
