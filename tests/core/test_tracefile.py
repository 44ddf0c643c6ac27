import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import TraceError
from core.model.loading import load_model
from core.session import Session
from core.spec import Decode, FaultUse, Prefill, Probe, Rollback, RunSpec
from core.trace_container import read_container, write_container
from core.trace_json import to_json
from core.trace_rerun import rerun
from core.trace_versions import versions_here
from core.tracefile import Notes, open_trace, save_trace
from resources import resource_path
from tests.helpers.runs import Judged, judged, spec_for, tiny

ROOT = Path(__file__).resolve().parents[2]
PROMPT = (1, 2, 3, 4, 5)
UNEVEN = (Prefill(PROMPT), Decode(), Probe(2, 1), Decode())
ROLLED_BACK = (Prefill(PROMPT), *(Decode(),) * 4, Rollback(3), Decode())
CASES = {
    "plain": spec_for("learned", prompt_ids=PROMPT, steps=3, dtype="float32"),
    "rope": spec_for("rope", prompt_ids=PROMPT, steps=3),
    "half": spec_for("alibi", prompt_ids=PROMPT, steps=3, dtype="float16"),
    "bfloat16": spec_for("learned", prompt_ids=PROMPT, steps=3, dtype="bfloat16"),
    "refused": spec_for("learned", prompt_ids=PROMPT, steps=3, capacity=6),
    "window": spec_for("rope", prompt_ids=PROMPT, steps=3, policy="window", capacity=4, chunk=2),
    "reprefill": spec_for("learned", prompt_ids=PROMPT, steps=3, policy="reprefill", capacity=3),
    "sinks": spec_for("learned", prompt_ids=PROMPT, steps=3, policy="sinks", capacity=4, sinks=1),
    "ranks": spec_for(
        "rope",
        prompt_ids=PROMPT,
        steps=3,
        policy="sinks",
        capacity=4,
        sinks=2,
        reassign_positions=True,
    ),
    "sampled": spec_for("learned", prompt_ids=PROMPT, steps=3, temperature=0.7, top_k=9, seed=3),
    "forced": spec_for("learned", prompt_ids=PROMPT, steps=3, force_ids=(7, None, 8)),
    **{
        fault: spec_for("learned", prompt_ids=PROMPT, steps=4, faults=(FaultUse(fault),))
        for fault in (
            "pos-restart",
            "mask-top-left",
            "mask-unwritten",
            "store-row-zero",
            "both-bugs",
        )
    },
    "layers": spec_for(
        "rope", prompt_ids=PROMPT, steps=4, faults=(FaultUse("store-alias-in", layers=(1, 3)),)
    ),
    "uneven": spec_for(
        "learned", prompt_ids=PROMPT, requests=UNEVEN, faults=(FaultUse("store-uneven"),)
    ),
    "counter first": spec_for(
        "learned",
        prompt_ids=PROMPT,
        capacity=8,
        requests=ROLLED_BACK,
        faults=(FaultUse("cap-counter-first"),),
    ),
}


@pytest.fixture(scope="module")
def plain() -> Judged:
    return judged(CASES["plain"])


@pytest.fixture(scope="module")
def plain_file(plain, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "plain.kvtrace"
    save_trace(path, plain.trace, full=True, verdicts=plain.verdicts)
    return path


def comparable(verdict) -> tuple:
    logits = verdict.logits
    return (
        to_json(verdict, ("logits",)),
        None if logits is None else to_json(logits, ("reference",)),
        None if logits is None else (logits.reference.dtype, logits.reference.tobytes()),
    )


@pytest.mark.parametrize("spec", CASES.values(), ids=CASES)
def test_a_full_file_gives_back_every_record_and_every_verdict(spec, tmp_path):
    run = judged(spec)
    path = tmp_path / "run.kvtrace"
    save_trace(path, run.trace, full=True, verdicts=run.verdicts)
    opened = open_trace(path)
    assert opened.trace is not None
    assert opened.trace.digests() == run.trace.digests()
    assert (opened.trace.spec, opened.trace.model) == (run.trace.spec, run.trace.model)
    assert opened.trace.end == run.trace.end
    assert [*map(comparable, opened.verdicts)] == [*map(comparable, run.verdicts)]


def test_what_is_read_back_is_read_only_and_shares_plans_as_before(plain_file):
    trace = open_trace(plain_file).trace
    assert trace is not None
    layers = trace.records[1].layers
    assert layers[0].plan is layers[3].plan
    assert trace.records[1].live[0] is trace.records[1].live[3]
    assert not layers[0].scores.flags.writeable
    assert not trace.records[1].ledger.slot.flags.writeable


@pytest.mark.parametrize("spec", CASES.values(), ids=CASES)
def test_a_small_file_makes_the_same_run_again(spec, tmp_path):
    run = judged(spec)
    path = tmp_path / "run.kvtrace"
    save_trace(path, run.trace, full=False)
    opened = open_trace(path)
    assert (opened.trace, opened.verdicts) == (None, ())
    again = rerun(opened, tiny(spec.model.removeprefix("tiny-")))
    assert (again.agreement, again.first_different_step) == ("identical", None)
    assert again.is_same_place
    assert again.trace.digests() == run.trace.digests()
    assert again.trace.end == run.trace.end


def test_a_small_file_is_small(plain, plain_file, tmp_path):
    path = tmp_path / "small.kvtrace"
    save_trace(path, plain.trace, full=False)
    assert read_container(path)[1] == {}
    assert path.stat().st_size < plain_file.stat().st_size / 20


def test_a_small_file_whose_lists_differ_in_length_is_refused(plain, tmp_path):
    path = tmp_path / "small.kvtrace"
    save_trace(path, plain.trace, full=False)
    document = json.loads(read_container(path)[0])
    for name in ("token_ids", "digests", "top_logits"):
        shorter = changed_at(document, ("runs", 0, name), document["runs"][0][name][:-1])
        write_container(path, json.dumps(shorter), {})
        with pytest.raises(TraceError, match=r"lists belong to \[3, 4\] steps"):
            open_trace(path)


def small_with(plain: Judged, folder: Path, **changes):
    """A small file of the run whose account of it is changed."""
    path = folder / "changed.kvtrace"
    save_trace(path, plain.trace, full=False)
    opened = open_trace(path)
    return replace(opened, recorded=replace(opened.recorded, **changes))


def test_other_bits_with_the_same_tokens_are_within_the_band(plain, tmp_path):
    opened = small_with(plain, tmp_path, digests=("0",) * len(plain.trace.records))
    opened = replace(opened, versions=replace(opened.versions, torch="1.0"))
    again = rerun(opened, tiny("learned"))
    assert (again.agreement, again.is_same_place) == ("within the band", False)


def test_another_token_makes_a_rerun_different_from_that_step_on(plain, tmp_path):
    tokens = [record.token_ids for record in plain.trace.records]
    tokens[2] = (tokens[2][0] ^ 1,)
    digests = ("0",) * len(tokens)
    opened = small_with(plain, tmp_path, token_ids=tuple(tokens), digests=digests)
    again = rerun(opened, tiny("learned"))
    assert (again.agreement, again.first_different_step) == ("different", 2)


def test_another_number_makes_a_rerun_different_from_that_step_on(plain, tmp_path):
    path = tmp_path / "small.kvtrace"
    save_trace(path, plain.trace, full=False)
    top = list(open_trace(path).recorded.top_logits)
    assert top[1] is not None
    top[1] += 0.01
    opened = small_with(plain, tmp_path, top_logits=tuple(top), digests=("0",) * len(top))
    assert rerun(opened, tiny("learned")).first_different_step == 1


def test_a_run_that_was_interrupted_is_made_again_as_far_as_it_went(plain, tmp_path):
    trace = replace(plain.trace, records=plain.trace.records[:2], end="cancelled")
    path = tmp_path / "cut.kvtrace"
    save_trace(path, trace, full=False)
    again = rerun(open_trace(path), tiny("learned"))
    assert (len(again.trace.records), again.trace.end) == (2, "cancelled")
    assert again.agreement == "identical"


def test_notes_and_versions_are_kept(plain, tmp_path):
    path = tmp_path / "noted.kvtrace"
    notes = Notes(marks=(1, 2), breakpoints=(3,), notes="why “this”?")
    elsewhere = replace(versions_here("cpu"), processor="another one")
    save_trace(path, plain.trace, full=True, notes=notes, versions=elsewhere)
    opened = open_trace(path)
    assert (opened.notes, opened.versions, opened.verdicts) == (notes, elsewhere, ())


def test_a_full_file_opens_without_torch(plain_file):
    code = (
        "import sys; from pathlib import Path; from core.tracefile import open_trace;"
        "opened = open_trace(Path(sys.argv[1]));"
        "print(len(opened.trace.records), len(opened.verdicts), 'torch' in sys.modules)"
    )
    done = subprocess.run(  # noqa: S603  (our own interpreter and code)
        [sys.executable, "-c", code, plain_file],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.stdout == "4 4 False\n", done.stderr


# Whole or not at all


def test_a_process_killed_while_saving_leaves_the_old_file_whole(plain_file, tmp_path):
    path = tmp_path / "kept.kvtrace"
    path.write_bytes(plain_file.read_bytes())
    code = (
        "import os, sys; from pathlib import Path; from core.tracefile import *;"
        "os.fsync = lambda number: (print('half', flush=True), sys.stdin.read());"
        "path = Path(sys.argv[1]); opened = open_trace(path);"
        "save_trace(path, opened.trace, full=False)"
    )
    child = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", code, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "half\n"
        child.kill()
    assert path.read_bytes() == plain_file.read_bytes()


def test_saving_that_fails_leaves_the_old_file_and_nothing_else(plain, tmp_path, monkeypatch):
    path = tmp_path / "kept.kvtrace"
    path.write_bytes(b"old")

    def full_disk(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(TraceError, match="No space left on device"):
        save_trace(path, plain.trace, full=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["kept.kvtrace"]
    assert path.read_bytes() == b"old"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such rights")
def test_a_file_has_the_rights_that_any_new_file_has(plain, tmp_path):
    ordinary, path = tmp_path / "ordinary", tmp_path / "run.kvtrace"
    ordinary.touch()
    save_trace(path, plain.trace, full=False)
    assert path.stat().st_mode == ordinary.stat().st_mode


def test_a_link_stays_a_link(plain, tmp_path):
    link, target = tmp_path / "link", tmp_path / "target.kvtrace"
    link.symlink_to(target)
    save_trace(link, plain.trace, full=False)
    assert link.is_symlink()
    assert open_trace(target).spec == plain.trace.spec


@pytest.mark.parametrize("place", ["missing/run.kvtrace", "."], ids=["no folder", "a folder"])
def test_a_place_that_cannot_be_written_is_one_line(place, plain, tmp_path):
    with pytest.raises(TraceError, match=r"^[^\n]+$"):
        save_trace(tmp_path / place, plain.trace, full=False)


# Damaged and foreign files


def is_refused_or_read(path: Path) -> bool:
    """Whether opening raises TraceError in one line; False where it opens. All else is a bug."""
    try:
        open_trace(path)
    except TraceError as error:
        assert "\n" not in str(error)  # noqa: PT017
        return True
    return False


often = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@often
@given(place=st.integers(0, 10**9), bit=st.integers(0, 7))
def test_a_flipped_bit_is_found(place, bit, plain_file, tmp_path):
    content = bytearray(plain_file.read_bytes())
    content[place % len(content)] ^= 1 << bit
    path = tmp_path / "flipped.kvtrace"
    path.write_bytes(content)
    assert is_refused_or_read(path)


@often
@given(kept=st.floats(0, 1, exclude_max=True))
def test_a_file_that_was_cut_is_found(kept, plain_file, tmp_path):
    content = plain_file.read_bytes()
    path = tmp_path / "cut.kvtrace"
    path.write_bytes(content[: int(kept * len(content))])
    assert is_refused_or_read(path)


@often
@given(content=st.binary(max_size=400))
def test_any_other_bytes_are_no_trace(content, tmp_path):
    path = tmp_path / "foreign.kvtrace"
    path.write_bytes(content)
    assert is_refused_or_read(path)


def test_a_checkpoint_is_no_trace(tmp_path):
    from safetensors.numpy import save_file

    path = tmp_path / "model.safetensors"
    save_file({"weight": np.zeros(3)}, path)
    with pytest.raises(TraceError, match="no trace"):
        open_trace(path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(TraceError, match=r"gone\.kvtrace: there is no such file"):
        open_trace(tmp_path / "gone.kvtrace")


def paths_in(value, path=()) -> list[tuple]:
    """Every place in a JSON value."""
    found = [path]
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            found += paths_in(item, (*path, key))
    return found


def changed_at(value, path, new):
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed_at(copy[path[0]], path[1:], new)
    return copy


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@settings(often, max_examples=400)
@given(data=st.data(), new=json_values)
def test_a_value_of_any_other_kind_in_the_description_is_found_or_harmless(
    data, new, plain_file, tmp_path
):
    text, columns = read_container(plain_file)
    document = json.loads(text)
    path = data.draw(st.sampled_from(paths_in(document)))
    changed = changed_at(document, path, new)
    file = tmp_path / "changed.kvtrace"
    write_container(file, json.dumps(changed), columns)
    is_refused_or_read(file)


def rewritten(plain_file: Path, path: Path, change) -> Path:
    """The file with other tensors and a checksum that fits them."""
    text, columns = read_container(plain_file)
    change(columns)
    write_container(path, text, columns)
    return path


def names(file: Path) -> list[str]:
    return sorted(read_container(file)[1])


def test_each_tensor_is_needed(plain_file, tmp_path):
    for name in names(plain_file):
        file = rewritten(plain_file, tmp_path / "x.kvtrace", lambda c, n=name: c.pop(n))
        with pytest.raises(TraceError, match=f"no tensor {name}"):
            open_trace(file)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda column: column[:-1], "too few"),
        (lambda column: np.append(column, column[:1]), "account for"),
        (lambda column: column.reshape(1, -1), "2 axes"),
        (lambda column: column.astype("f4" if column.dtype.kind == "i" else "i8"), "holds"),
    ],
    ids=["short", "long", "two axes", "another type"],
)
def test_each_tensor_has_the_size_and_type_that_the_steps_demand(
    change, message, plain_file, tmp_path
):
    for name in names(plain_file):

        def apply(columns, name=name):
            columns[name] = change(columns[name])

        with pytest.raises(TraceError, match=message):
            open_trace(rewritten(plain_file, tmp_path / "x.kvtrace", apply))


def test_numbers_that_are_not_those_of_the_digests_are_found(plain_file, tmp_path):
    def apply(columns):
        columns["layer.scores"] = columns["layer.scores"] + 1

    with pytest.raises(TraceError, match="digests"):
        open_trace(rewritten(plain_file, tmp_path / "x.kvtrace", apply))


@pytest.mark.parametrize(
    ("path", "new", "message"),
    [
        (("schema",), 2, "schema is 2"),
        (("schema",), True, "schema is True"),
        (("runs",), [], "0 runs"),
        (("spec", "capacity"), 0, "capacity is 0"),
        (("spec", "policy"), "lru", "policy"),
        (("spec", "prompt_ids"), ["a"], r"prompt_ids\[0\] is 'a'"),
        (("runs", 0, "model", "config", "n_heads"), 3, "multiple|axes|numbers"),
        (("runs", 0, "end"), "tired", "end is 'tired'"),
        (("runs", 0, "digests"), [], "steps"),
        (("runs", 0, "steps", 1, "phase"), "nap", "phase is 'nap'"),
        (("runs", 0, "steps", 1, "sizes", "plans"), [], "plan 0 is named"),
        (("runs", 0, "steps", 1, "sizes", "slots"), -1, "too few"),
        (("runs", 0, "steps", 1, "token_ids"), [1.5], "a whole number"),
        (("runs", 0, "verdicts", 0, "policy"), "maybe", "policy is 'maybe'"),
        (("marks",), ["x"], "marks"),
        (("versions",), {}, "versions has no kvscope"),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else None,
)
def test_what_is_wrong_in_the_description_is_named(path, new, message, plain_file, tmp_path):
    text, columns = read_container(plain_file)
    file = tmp_path / "changed.kvtrace"
    write_container(file, json.dumps(changed_at(json.loads(text), path, new)), columns)
    with pytest.raises(TraceError, match=message):
        open_trace(file)


@pytest.mark.parametrize(("key", "n"), [("vocab_size", 255), ("vocab_size", 300), ("n_layers", 3)])
def test_a_model_of_another_size_does_not_fit_the_steps(key, n, plain_file, tmp_path):
    text, columns = read_container(plain_file)
    path = ("runs", 0, "model", "config", key)
    file = tmp_path / "changed.kvtrace"
    write_container(file, json.dumps(changed_at(json.loads(text), path, n)), columns)
    with pytest.raises(TraceError, match="the model has"):
        open_trace(file)


def test_a_file_that_asks_for_endless_steps_is_made_again_as_far_as_it_was_recorded(
    plain, tmp_path
):
    opened = small_with(plain, tmp_path)
    endless = replace(opened, spec=replace(opened.spec, steps=10**15))
    assert rerun(endless, tiny("learned")).agreement == "identical"


def test_a_shipped_model_is_kept_by_its_name_and_another_one_by_its_folder(tmp_path):
    spec = RunSpec(model="learned", prompt_ids=(3, 1), steps=1, capacity=8)
    copied = tmp_path / "copied"
    shutil.copytree(resource_path("models", "learned"), copied)
    for name, path in (("learned", None), (str(copied), str(copied))):
        session = Session(replace(spec, model=name), load_model(name))
        session.run()
        save_trace(tmp_path / "run.kvtrace", session.trace, full=True)
        assert open_trace(tmp_path / "run.kvtrace").recorded.model.path == path
