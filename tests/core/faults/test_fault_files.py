"""A fault of one's own, loaded from a file: what it must say, what happens where it is wrong."""

import hashlib
import re
from dataclasses import fields
from pathlib import Path

import pytest

from core.engine.seams import CORRECT, Seams
from core.errors import FaultError
from core.faults.activation import activate
from core.faults.fault_files import load_fault_file
from core.faults.known import BUILT_IN, KnownFaults
from core.faults.sources import faulty_sources
from core.session import Session
from core.spec import FaultFile, FaultUse
from core.trace import Trace
from core.trace_rerun import rerun
from core.tracefile import open_trace, save_trace
from tests.helpers.runs import spec_for, tiny

ROOT = Path(__file__).resolve().parents[3]
HEAD = "import numpy as np\nfrom core.faults.own import OwnFault\n\n\n"
"""Four lines: the function of `own` begins in line 5."""


def example() -> str:
    """The file that the documentation shows."""
    text = (ROOT / "core" / "README.md").read_text("utf-8")
    (found,) = (
        block for block in re.findall(r"```python\n(.*?)```", text, re.S) if "FAULT" in block
    )
    return found


def own(function: str, seam: str = "position_ids", fault_id: str = "mine", more: str = "") -> str:
    """A file with a function `wrong`, and a fault that puts it on a seam."""
    return (
        f"{HEAD}{function}\n\n\n"
        f'FAULT = OwnFault(id="{fault_id}", title="Mine", seam="{seam}", function=wrong{more})\n'
    )


@pytest.fixture
def write(tmp_path):
    """Writes a file and gives its path."""

    def written(text: str, name: str = "my_fault.py") -> Path:
        path = tmp_path / name
        path.write_text(text, "utf-8")
        return path

    return written


def known_from(path: Path) -> KnownFaults:
    return BUILT_IN.with_file(load_fault_file(path))


def run_with(known: KnownFaults, *names: str, **changes) -> Trace:
    spec = spec_for("learned", faults=tuple(known.use(name) for name in names), **changes)
    return Session(spec, tiny("learned"), known=known).run()


# What the documentation shows.


def test_the_example_of_the_documentation_is_short() -> None:
    assert len(example().splitlines()) <= 25


def test_the_example_of_the_documentation_does_what_it_says(write) -> None:
    trace = run_with(known_from(write(example())), "one-too-far", steps=3)
    positions = [record.layers[0].plan.position_ids.tolist() for record in trace.records]
    n = len(trace.spec.prompt_ids)
    assert positions == [list(range(n)), [n + 1], [n + 2], [n + 3]]


def test_a_fault_from_a_file_goes_with_one_of_the_program(write) -> None:
    known = known_from(write(example()))
    uses = (known.use("one-too-far"), FaultUse("store-row-zero"))
    table = activate(uses, 1, known).tables()(0)[0]
    changed = {
        f.name for f in fields(Seams) if getattr(table, f.name) is not getattr(CORRECT, f.name)
    }
    assert changed == {"position_ids", "store"}


def test_two_faults_on_one_seam_are_refused_wherever_they_come_from(write) -> None:
    known = known_from(write(example()))
    uses = (known.use("one-too-far"), FaultUse("pos-restart"))
    with pytest.raises(
        FaultError, match=r"one-too-far and pos-restart both replace .*position_ids"
    ):
        activate(uses, 1, known)


def test_a_whole_fault_as_those_of_the_program_are_is_taken(write) -> None:
    text = (ROOT / "core" / "faults" / "pos_restart.py").read_text("utf-8")
    (fault,) = load_fault_file(write(text.replace('"pos-restart"', '"my-restart"')))
    assert (fault.id, fault.seam) == ("my-restart", "position_ids")


def test_a_file_can_define_several_faults(write) -> None:
    text = own("def wrong(past_len, n_new, ledger):\n    return np.arange(n_new)")
    text += (
        "FAULTS = [OwnFault(id='other', title='Other', seam='overflow', function=lambda a, b: 0)]\n"
    )
    assert [fault.id for fault in load_fault_file(write(text))] == ["mine", "other"]


def test_a_file_may_define_dataclasses_of_its_own(write) -> None:
    text = (
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n\n"
        "@dataclass\nclass Settings:\n    first: int = 1\n"
    )
    assert load_fault_file(write(text + own(RIGHT)))[0].id == "mine"


def test_what_a_file_prints_stays_out_of_the_output(write, capsys) -> None:
    load_fault_file(write(example() + "\nprint('hello')\n"))
    assert capsys.readouterr().out == ""


# What is wrong with a file.

RIGHT = "def wrong(past_len, n_new, ledger):\n    return np.arange(n_new)"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("def f(:\n", r"my_fault\.py is not Python: line 1: ", id="syntax"),
        pytest.param("x = '\0'\n", r"my_fault\.py is not Python: ", id="a null byte"),
        pytest.param("\n\n1 / 0\n", r"line 3: running it raised ZeroDivisionError", id="raises"),
        pytest.param(
            "import sys\nsys.exit(1)\n", r"line 2: running it raised SystemExit", id="leaves"
        ),
        pytest.param("import no_such_module\n", r"line 1: .*no_such_module", id="import"),
        pytest.param("x = 1\n", "defines no FAULT", id="none"),
        pytest.param(
            "FAULT = {'id': 1}\n", r"FAULT is .*, a dict; it must be an OwnFault", id="kind"
        ),
        pytest.param("FAULTS = 3\n", "FAULTS is 3; it must be a tuple", id="no tuple"),
        pytest.param("FAULTS = ()\n", "FAULTS is empty", id="empty"),
        pytest.param(own(RIGHT, seam="positon_ids"), "did you mean position_ids", id="seam"),
        pytest.param(
            own("def wrong(past_len, n_new):\n    return np.arange(n_new)"),
            r"wrong takes 2 \(past_len, n_new\), but the seam position_ids gives 3 "
            r"\(past_len, n_new, ledger\)",
            id="too few parameters",
        ),
        pytest.param(own("wrong = 3"), "function is 3; it must be a function", id="no function"),
        pytest.param(
            own(RIGHT, fault_id="pos-restart"), "'pos-restart' is one of kvscope's", id="ours"
        ),
        pytest.param(
            own(RIGHT, fault_id="both-bugs"), "'both-bugs' is one of kvscope's", id="named"
        ),
        pytest.param(
            own(RIGHT, fault_id="My fault"), "id 'My fault' cannot be used", id="malformed"
        ),
        pytest.param(own(RIGHT, more=", shows_in=3"), "shows_in is no Scenario", id="scenario"),
        pytest.param(
            own(RIGHT, more=", symptom=3"), "symptom is 3; it must be a text", id="symptom"
        ),
        pytest.param(own(RIGHT) + "FAULTS = (FAULT,)\n", "two faults of one id", id="twice"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_in_one_line(write, text: str, told: str) -> None:
    with pytest.raises(FaultError, match=told) as caught:
        load_fault_file(write(text))
    assert "my_fault.py" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path) -> None:
    for path in (tmp_path / "none.py", tmp_path):
        with pytest.raises(FaultError, match=f"{re.escape(str(path))} cannot be read"):
            load_fault_file(path)


def test_a_mistake_in_a_fault_is_told_with_its_line(write) -> None:
    with pytest.raises(
        FaultError, match=r"my_fault\.py, line 9: fault 'mine': seam 'x' is not known"
    ):
        load_fault_file(write(own(RIGHT, seam="x")))


def test_one_id_in_two_files_is_refused(write) -> None:
    known = known_from(write(own(RIGHT)))
    with pytest.raises(FaultError, match=r"b\.py: id 'mine' stands in .*my_fault\.py already"):
        known.with_file(load_fault_file(write(own(RIGHT), "b.py")))


# What it does in a run.

ANSWERS = [
    pytest.param(
        "position_ids", "past_len, n_new, ledger", "1 / 0", "raised ZeroDivision", id="raises"
    ),
    pytest.param(
        "position_ids", "past_len, n_new, ledger", "exit()", "raised SystemExit", id="exit"
    ),
    pytest.param(
        "position_ids", "past_len, n_new, ledger", "[0]", r"not \[0\] \(list\)", id="list"
    ),
    pytest.param(
        "position_ids",
        "past_len, n_new, ledger",
        "np.arange(n_new + 1)",
        "array of 3 whole",
        id="long",
    ),
    pytest.param(
        "position_ids",
        "past_len, n_new, ledger",
        "np.arange(max(2, n_new))",
        "array of 1 whole number, each",
        id="long for one",
    ),
    pytest.param(
        "position_ids", "past_len, n_new, ledger", "np.zeros(n_new)", "whole", id="floats"
    ),
    pytest.param(
        "position_ids", "past_len, n_new, ledger", "-np.arange(n_new)", "-2", id="below 0"
    ),
    pytest.param("layer_position_ids", "ids, layer", "ids", "a pair of arrays", id="no pair"),
    pytest.param("next_slots", "ledger, n_new", "None", "not None", id="none"),
    pytest.param("slot_mapping", "slots", "slots * 10**9", "array of", id="far rows"),
    pytest.param("kv_view", "ledger", "np.zeros((2, 2), int)", r"shape \(2, 2\)", id="two axes"),
    pytest.param("overflow", "ledger, n_new", "0.5", "a whole number", id="half"),
    pytest.param("overflow", "ledger, n_new", "True", "a whole number", id="true"),
    pytest.param("admit", "ledger, append", "ledger", "a pair", id="no outcome"),
    pytest.param("admit", "ledger, append", "(ledger, True)", "OK or Refused", id="a truth"),
    pytest.param("join", "before, after", "None", "a Ledger", id="no ledger"),
    pytest.param(
        "join",
        "before, after",
        "__import__('dataclasses').replace(after, slot=after.slot[1:])",
        "as many entries",
        id="uneven ledger",
    ),
    pytest.param(
        "causal_mask", "query, key, readable", "readable[:, 1:]", "true and false", id="cut"
    ),
    pytest.param(
        "causal_mask", "query, key, readable", "readable * 1.0", "true and false", id="1.0"
    ),
    pytest.param(
        "rotate", "scheme, heads, ids", "heads[:, :1]", "a tensor of shape", id="one token"
    ),
    pytest.param("rotate", "scheme, heads, ids", "heads.half()", "torch.float64 on cpu", id="type"),
    pytest.param("repeat_kv", "heads, n_rep", "heads.numpy()", "a tensor", id="numpy"),
    pytest.param("store", "rows, at, keys, values", "3", "must answer nothing", id="an answer"),
    pytest.param("allocate", "n_layers, shape, like", "[like]", "one for each layer", id="buffers"),
    pytest.param("reported_length", "ledger", "'3'", "a whole number", id="text"),
]


@pytest.mark.parametrize(("seam", "parameters", "answer", "told"), ANSWERS)
def test_an_answer_that_cannot_be_used_ends_the_run_with_file_line_and_seam(
    write, seam: str, parameters: str, answer: str, told: str
) -> None:
    known = known_from(write(own(f"def wrong({parameters}):\n    return {answer}", seam)))
    with pytest.raises(FaultError, match=told) as caught:
        run_with(known, "mine", prompt_ids=(1, 2, 3), steps=2)
    assert re.match(r"my_fault\.py, line [56]: ", str(caught.value))
    assert seam in str(caught.value)


def test_the_line_that_raised_is_named_not_that_of_the_function(write) -> None:
    function = "def wrong(past_len, n_new, ledger):\n    x = 1\n    x += 1\n    return [x][99]"
    known = known_from(write(own(function)))
    with pytest.raises(FaultError, match=r"my_fault\.py, line 8: .*position_ids raised IndexError"):
        run_with(known, "mine")


def test_an_answer_that_only_the_engine_finds_unusable_is_told_of_its_file(write) -> None:
    """A ledger that is right in kind, but with a memory that the engine cannot go on from."""
    function = "def wrong(a, b):\n    return __import__('dataclasses').replace(b, recent=None)"
    known = known_from(write(own(function, "join")))
    with pytest.raises(
        FaultError, match=r"my_fault\.py, line 5 \(seam join\): what it answers cannot be used: Typ"
    ):
        run_with(known, "mine")


def test_whole_numbers_of_numpy_are_taken_as_python_has_them(write) -> None:
    known = known_from(
        write(own("def wrong(ledger):\n    return np.int32(ledger.length)", "reported_length"))
    )
    record = run_with(known, "mine", steps=0).records[0]
    assert type(record.reported_length) is int


def test_a_right_function_on_any_seam_changes_nothing(write) -> None:
    """What is looked at is let through as it was, for every seam that these runs ask."""
    names = [field.name for field in fields(Seams)]
    text = "from core.engine import seams\nfrom core.faults.own import OwnFault\nFAULTS = [\n"
    text += "".join(
        f"    OwnFault('own-{name.replace('_', '-')}', 'Right', '{name}', "
        f"lambda *given: seams.{name}(*given)),\n"
        for name in names
    )
    known = known_from(write(text + "]\n"))
    ids = [f"own-{name.replace('_', '-')}" for name in names]
    for changes in (
        {"policy": "sinks", "sinks": 2, "capacity": 8, "steps": 6},
        {"growable": True, "kv_dtype": "int8", "steps": 6},
    ):
        right = Session(spec_for("rope", **changes), tiny("rope")).run()
        spec = spec_for("rope", faults=tuple(map(known.use, ids)), **changes)
        assert Session(spec, tiny("rope"), known=known).run().digests() == right.digests()


# What is shown of it, and what a trace says.


def test_the_code_shown_is_that_of_the_text_that_ran(write) -> None:
    path = write(own(RIGHT))
    known = known_from(path)
    path.write_text(own("def wrong(past_len, n_new, ledger):\n    return None"), "utf-8")
    (source,) = faulty_sources((known.use("mine"),), 0, 0, known.codes)
    assert source.faulty is not None
    assert source.faulty.text == RIGHT
    assert (source.faulty.file, source.faulty.line) == ("my_fault.py", 5)


def test_a_file_loaded_again_takes_the_place_of_what_it_held(write) -> None:
    first = known_from(write(own(RIGHT)))
    other = RIGHT.replace("arange(n_new)", "arange(n_new) + 1")
    second = first.with_file(load_fault_file(write(own(other))))
    assert [fault.id for fault in second.own] == ["mine"]
    n = len(spec_for("learned").prompt_ids)
    for use, positions in ((first.use("mine"), range(n)), (second.use("mine"), range(1, n + 1))):
        spec = spec_for("learned", steps=0, faults=(use,))
        record = Session(spec, tiny("learned"), known=second).run().records[0]
        assert record.layers[0].plan.position_ids.tolist() == list(positions)


def test_a_trace_names_the_file_and_its_digest(write, tmp_path) -> None:
    path = write(own(RIGHT))
    trace = run_with(known_from(path), "mine", steps=1)
    save_trace(tmp_path / "a.kvtrace", trace, full=False)
    (use,) = open_trace(tmp_path / "a.kvtrace").spec.faults
    assert use == FaultUse(
        "mine", file=FaultFile("my_fault.py", hashlib.sha256(path.read_bytes()).hexdigest())
    )


def test_opening_a_trace_runs_no_file_even_where_it_lies_there(
    write, tmp_path, monkeypatch
) -> None:
    mark = tmp_path / "was-run"
    path = write(own(RIGHT) + f"open({str(mark)!r}, 'w').close()\n")
    known = known_from(path)
    for full in (False, True):
        save_trace(tmp_path / f"{full}.kvtrace", run_with(known, "mine", steps=1), full=full)
    mark.unlink()
    monkeypatch.chdir(tmp_path)
    assert open_trace(tmp_path / "True.kvtrace").trace is not None
    with pytest.raises(
        FaultError, match=r"fault 'mine' from 'my_fault\.py', which is not loaded; load"
    ):
        rerun(open_trace(tmp_path / "False.kvtrace"), tiny("learned"))
    assert not mark.exists()
    assert (
        rerun(open_trace(tmp_path / "False.kvtrace"), tiny("learned"), known).agreement
        == "identical"
    )


def test_a_trace_is_not_made_again_with_another_text_of_its_file(write, tmp_path) -> None:
    known = known_from(write(own(RIGHT)))
    save_trace(tmp_path / "a.kvtrace", run_with(known, "mine", steps=1), full=False)
    changed = known_from(write(own(RIGHT) + "# changed\n"))
    with pytest.raises(FaultError, match="which is not loaded as it was then"):
        rerun(open_trace(tmp_path / "a.kvtrace"), tiny("learned"), changed)
