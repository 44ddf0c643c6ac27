import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import core.foreign.example_writer as example_writer
from core.errors import TraceError
from core.foreign.checks import account, checked, problems
from core.foreign.example_writer import write_trace
from core.foreign.file import KEY, is_own, read_foreign, write_foreign
from core.foreign.trace import ForeignTrace
from core.tracefile import open_trace, save_trace
from tests.helpers.runs import run, spec_for

IDS, LOGITS = [3, 1, 2, 0], np.eye(4)[[2, 0]]


def minimal(path: Path, token_ids=IDS, logits=LOGITS, **more) -> Path:
    write_trace(str(path), token_ids, logits, {}, **more)
    return path


def trace(**more) -> ForeignTrace:
    said = {"engine": None, "dtype": "float32", "token_ids": np.array(IDS)}
    said |= {"n_tokens": np.array([3, 1]), "logits": LOGITS.astype(np.float32)}
    return ForeignTrace(**said | more)


# The example that other engines copy


def test_the_example_writer_has_at_most_40_lines_and_needs_numpy_and_safetensors_only():
    text = Path(example_writer.__file__).read_text("utf-8")
    assert len(text.splitlines()) <= 40
    imported = {line.split()[1].split(".")[0] for line in text.splitlines() if "import " in line}
    assert imported & {"app", "core", "torch"} == set()


def test_the_example_writer_runs_by_itself_and_its_file_is_well_formed(tmp_path):
    path = tmp_path / "toy.kvtrace"
    command = [sys.executable, "-I", example_writer.__file__, str(path)]
    subprocess.run(command, check=True)  # noqa: S603
    file = read_foreign(path)
    assert problems(file.trace) == []
    assert file.trace.engine == "toy 1.0"
    assert file.trace.token_ids.tolist() == [3, 4, 5, 6, 7, 8]
    assert file.trace.n_tokens.tolist() == [3, 1, 1, 1]


def test_all_that_is_optional_can_be_written_by_the_example_writer(tmp_path):
    more = {"n_tokens": [3, 1], "position_ids": [0, 1, 2, 3], "cache_length": [3, 4]}
    path = minimal(tmp_path / "a.kvtrace", reference=LOGITS, **more)
    read = read_foreign(path).trace
    assert {name: getattr(read, name).tolist() for name in more} == more
    assert read.standings == ["right", "right"]


# Reading


def test_two_tensors_without_any_description_are_a_trace(tmp_path):
    path = tmp_path / "bare.kvtrace"
    save_file({"token_ids": np.array(IDS, np.int32), "logits": LOGITS.astype(np.float16)}, path)
    read = read_foreign(path).trace
    assert (read.token_ids.tolist(), read.dtype) == (IDS, "float16")
    assert read.n_tokens.tolist() == [3, 1]


def test_what_was_written_is_read_back(tmp_path):
    first = trace(
        engine="x 1", position_ids=np.arange(4), cache_length=np.array([3, -1]), unjudged="so"
    )
    write_foreign(tmp_path / "a.kvtrace", first)
    again = read_foreign(tmp_path / "a.kvtrace").trace
    for name in ForeignTrace.__dataclass_fields__:
        assert np.array_equal(getattr(again, name), getattr(first, name)), name


def test_logits_of_bfloat16_are_read_as_the_numbers_they_are(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file as save_torch

    logits = torch.tensor([[1.5, -0.25], [3.0, 1e-3]], dtype=torch.bfloat16)
    path = tmp_path / "a.kvtrace"
    save_torch({"token_ids": torch.tensor([0, 1]), "logits": logits}, path)
    read = read_foreign(path).trace
    assert read.dtype == "bfloat16"
    assert np.array_equal(read.logits, logits.float().numpy())


def test_what_is_not_known_is_named_and_does_no_harm(tmp_path):
    path = tmp_path / "a.kvtrace"
    tensors = {"token_ids": np.array(IDS), "logits": LOGITS, "hidden": np.zeros((1, 2, 3), bool)}
    save_file(tensors, path, {KEY: json.dumps({"schema": 1, "temperature": 0.5})})
    file = read_foreign(path)
    assert file.unread == ("hidden", "temperature")
    assert "not read: hidden, temperature" in account(file)


def described(text: str) -> dict:
    return {"tensors": {"token_ids": np.array(IDS), "logits": LOGITS}, "metadata": {KEY: text}}


BROKEN = {
    "no logits": (
        {"tensors": {"token_ids": np.array(IDS), "more": np.zeros(1)}},
        r"has no tensor logits \(tensors: more, token_ids\)",
    ),
    "ids that are floats": (
        {"tensors": {"token_ids": np.array([1.0]), "logits": LOGITS}},
        "the tensor token_ids holds F64; give I64",
    ),
    "ids of a batch": (
        {"tensors": {"token_ids": np.array([IDS]), "logits": LOGITS}},
        r"token_ids has the shape \[1, 4\]; give one axis",
    ),
    "logits of one axis": (
        {"tensors": {"token_ids": np.array(IDS), "logits": LOGITS[0]}},
        r"logits has the shape \[4\]; give two axes \[calls, vocabulary\]",
    ),
    "no JSON": (described("{"), "is no JSON"),
    "a list": (described("[]"), "is \\[\\], not an object"),
    "another schema": (described('{"schema": 7}'), "its schema is 7; .* reads 1"),
    "an engine that is a number": (described('{"schema": 1, "engine": 5}'), "engine is 5, not a"),
    "a spread below 0": (described('{"schema": 1, "spread": -1}'), "spread is -1, not a number"),
}


@pytest.mark.parametrize(("given", "said"), BROKEN.values(), ids=BROKEN)
def test_a_file_that_cannot_be_read_is_told_in_one_line(given, said, tmp_path):
    path = tmp_path / "broken.kvtrace"
    save_file(given["tensors"], path, given.get("metadata"))
    with pytest.raises(TraceError, match=f"broken.kvtrace: .*{said}") as caught:
        read_foreign(path)
    assert "\n" not in str(caught.value)


def test_a_file_written_here_that_was_changed_since_is_damaged(tmp_path):
    path = tmp_path / "a.kvtrace"
    write_foreign(path, trace())
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(TraceError, match="its checksum does not fit"):
        read_foreign(path)


def test_no_file_a_folder_and_a_text_are_told_apart(tmp_path):
    (tmp_path / "text").write_text("no trace", "utf-8")
    for name, said in (("none", "no such file"), ("", "is a folder"), ("text", "cannot be read")):
        with pytest.raises(TraceError, match=said):
            read_foreign(tmp_path / name)


# Ours and others


def test_a_trace_from_elsewhere_is_not_taken_for_a_run_and_the_message_says_what_it_is(tmp_path):
    path = minimal(tmp_path / "a.kvtrace")
    assert not is_own(path)
    with pytest.raises(TraceError, match=r"is a trace from elsewhere.*kvscope validate"):
        open_trace(path)


def test_a_run_is_not_taken_for_a_trace_from_elsewhere(tmp_path):
    path = tmp_path / "own.kvtrace"
    save_trace(path, run(spec_for("rope", prompt_ids=(1, 2), steps=0)), full=True)
    assert is_own(path)
    with pytest.raises(TraceError, match="is a trace of a run of kvscope itself"):
        read_foreign(path)


# Whether it fits together

UNFIT = {
    "no tokens": ({"token_ids": np.array([], int)}, "token_ids has 0 tokens"),
    "no calls": ({"logits": np.zeros((0, 4))}, r"logits the shape \[0, 4\]"),
    "a count too few": ({"n_tokens": np.array([4])}, "n_tokens has 1 numbers, logits 2 rows"),
    "more calls than tokens": (
        {"token_ids": np.array([1]), "n_tokens": np.array([0, 1])},
        "logits has 2 rows for 1 tokens",
    ),
    "an empty call": ({"n_tokens": np.array([4, 0])}, r"n_tokens\[1\] is 0"),
    "counts of another text": ({"n_tokens": np.array([2, 1])}, "adds up to 3, token_ids has 4"),
    "a position too few": ({"position_ids": np.arange(3)}, "position_ids has 3 numbers for 4 tok"),
    "a length too many": ({"cache_length": np.arange(3)}, "cache_length has 3 numbers for 2 calls"),
    "another reference": ({"reference": np.zeros((2, 5))}, r"the shape \[2, 5\], logits \[2, 4\]"),
    "an id too large": (
        {"token_ids": np.array([3, 4, 2, 0])},
        r"token_ids\[1\] is 4, outside .*: logits have 4 columns, so ids go from 0 to 3",
    ),
    "an id below 0": ({"token_ids": np.array([3, 1, -1, 0])}, r"token_ids\[2\] is -1"),
    "a position below -1": (
        {"position_ids": np.array([0, -2, 1, 2])},
        r"position_ids\[1\] is -2; give a number from 0 on, -1 for none",
    ),
    "an unknown type": ({"dtype": "int4"}, "dtype is 'int4'; how it rounds is known of float64"),
}


@pytest.mark.parametrize(("change", "said"), UNFIT.values(), ids=UNFIT)
def test_parts_that_do_not_fit_together_are_named_with_both_numbers(change, said):
    with pytest.raises(TraceError, match=said):
        checked("a.kvtrace", trace(**change))


def test_all_that_does_not_fit_is_told_at_once():
    unfit = trace(dtype="int4", token_ids=np.array([9, 9, 9, 9]), cache_length=np.arange(3))
    assert len(problems(unfit)) == 3
    with pytest.raises(TraceError, match=r"and 2 more: kvscope validate"):
        checked("a.kvtrace", unfit)


def test_a_trace_that_fits_is_handed_on():
    one = trace()
    assert checked("a.kvtrace", one) is one


def test_counts_too_large_for_their_type_do_not_add_up_by_going_round():
    n_tokens = np.array([2**62, 2**62, 2**62, 2**62 + 5 - 2**32, 2**32])
    unfit = trace(n_tokens=n_tokens, token_ids=np.zeros(5, int), logits=np.zeros((5, 4)))
    assert problems(unfit) == [f"n_tokens adds up to {2**64 + 5}, token_ids has 5; they must agree"]


def test_what_a_file_says_of_itself_stays_in_its_line(tmp_path):
    path = tmp_path / "a.kvtrace"
    said = {"schema": 1, "engine": "a\nb\x1b[2J", "unjudged": "c\nd", "e\nf": 1}
    save_file({"token_ids": np.array(IDS), "logits": LOGITS}, path, {KEY: json.dumps(said)})
    assert all(line.isprintable() for line in account(read_foreign(path)))


# What the numbers tell


def told(**more) -> str:
    from core.foreign.checks import facts

    return "\n".join(facts(trace(**more)))


def test_what_is_missing_is_named_with_what_cannot_be_said_without_it(tmp_path):
    lines = account(read_foreign(minimal(tmp_path / "a.kvtrace")))
    assert "has token_ids, logits" in lines
    missing = [line.split(":")[0] for line in lines if line.startswith("no ")]
    assert missing == ["no n_tokens", "no position_ids", "no cache_length", "no reference"]
    assert lines[-1] == "verdict: none, there is no reference"


def test_positions_that_start_again_are_named_with_call_token_and_position():
    assert "position ids: the token index, in all 4 tokens" in told(position_ids=np.arange(4))
    assert (
        "position ids: not the token index first in call 1: token 3 at position 0 (1 of 4)"
    ) in told(position_ids=np.array([0, 1, 2, 0]))
    assert "the token index, in the 3 of 4 tokens where it is told" in told(
        position_ids=np.array([0, 1, 2, -1])
    )


def test_a_cache_that_counts_otherwise_is_named_with_both_numbers():
    assert "cache length: the tokens read so far, in all 2 calls" in told(
        cache_length=np.array([3, 4])
    )
    assert "cache length: the tokens read so far, in the 1 of 2 calls where it is told" in told(
        cache_length=np.array([3, -1])
    )
    assert (
        "cache length: not the tokens read so far first in call 1: 3, where 4 were read (1 of 2)"
    ) in told(cache_length=np.array([3, 3]))


def test_the_tokens_read_next_are_held_against_the_largest_logits():
    assert "in 0 of 1 calls; another one first after call 0: token id 0 was read, 2 has" in told()


@pytest.mark.parametrize(
    ("off", "standing"), [(1e-6, "right"), (0.5, "wrong"), (np.nan, "wrong"), (np.inf, "wrong")]
)
def test_logits_are_judged_by_how_far_they_are_from_the_reference(off, standing):
    logits = LOGITS.astype(np.float32)
    logits[1, 0] += off
    assert trace(logits=logits, reference=LOGITS).standings == ["right", standing]


def test_what_two_lengths_differ_by_is_room_for_rounding_but_not_without_end():
    logits = LOGITS + np.array([[0.0], [1e-4]])
    for spread, standing in ((None, "wrong"), (1e-4, "rounding"), (0.5, "rounding")):
        assert trace(logits=logits, reference=LOGITS, spread=spread).standings[1] == standing
    assert trace(logits=LOGITS + 0.1, reference=LOGITS, spread=0.5).standings[1] == "wrong"


def test_the_first_wrong_call_is_named_with_its_tokens_and_error():
    words = told(reference=LOGITS + np.array([[0.0], [0.5]]))
    assert "verdict on logits: right 1, rounding 0, wrong 1" in words
    assert "first wrong: call 1 (token 3), error 0.5" in words


def test_calls_with_numbers_that_are_not_finite_are_listed():
    logits = np.full((2, 4), np.nan, np.float32)
    assert "logits that are no finite numbers: in calls 0, 1" in told(logits=logits)


def test_a_trace_that_could_not_be_judged_says_why():
    assert "verdict: none, dropout was on" in told(unjudged="dropout was on")


def test_bands_hang_on_the_number_type():
    off = LOGITS + 0.02
    by_type = [
        trace(dtype=name, logits=off, reference=LOGITS).standings[0]
        for name in ("float32", "float16", "bfloat16")
    ]
    assert by_type == ["wrong", "rounding", "right"]
    assert replace(trace(), reference=None).standings == []
