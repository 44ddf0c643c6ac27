import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app import cli
from core.faults.catalog import COMBINATIONS, FAULTS
from core.faults.scenarios import REST, SEVEN_TOKENS
from core.model.weights import random_weights
from core.spec import Decode, FaultUse, Prefill, Probe
from core.tolerance import FIELDS_FACTOR, LOGITS_FACTOR
from core.trace import Trace
from core.tracefile import save_trace
from tests.helpers.runs import judged, run, spec_for, tiny


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def saved(name: str, trace: Trace, *, full: bool = True) -> str:
    save_trace(Path(name), trace, full=full)
    return name


def exported(trace: Trace, tensors: str = "logits,attention", *, full: bool = True) -> dict:
    saved("run.kvtrace", trace, full=full)
    arguments = ["export", "run.kvtrace", "--tensors", tensors, "--out", "out.npz"]
    assert cli.main(arguments) == 0
    with np.load("out.npz", allow_pickle=False) as arrays:
        return dict(arrays)


def test_logits_have_a_row_per_step_and_nan_where_nothing_was_computed():
    trace = run(spec_for("learned", prompt_ids=(1, 2, 3), steps=2, capacity=4, dtype="float32"))
    logits = exported(trace, "logits")["logits"]
    assert (logits.shape, logits.dtype) == ((3, 256), np.float32)
    assert np.array_equal(logits[1], trace.records[1].logits)
    assert np.isnan(logits[2]).all()


def test_attention_has_layers_heads_new_tokens_and_keys_with_the_token_of_each_key():
    trace = run(spec_for("rope", prompt_ids=(1, 2, 3), steps=1))
    arrays = exported(trace)
    assert sorted(arrays) == [
        "attention_00000",
        "attention_00001",
        "attention_tokens_00000",
        "attention_tokens_00001",
        "logits",
    ]
    assert arrays["attention_00000"].shape == (4, 4, 3, 3)
    assert np.array_equal(arrays["attention_00001"][2], trace.records[1].layers[2].weights)
    assert arrays["attention_tokens_00001"].tolist() == [0, 1, 2, 3]
    assert arrays["attention_00001"].sum(axis=-1) == pytest.approx(1)


def test_a_key_that_holds_no_token_is_minus_one():
    spec = spec_for("learned", prompt_ids=(1, 2), steps=1, faults=(FaultUse("store-row-zero"),))
    assert exported(run(spec))["attention_tokens_00001"].tolist() == [2, 1, -1]


def test_a_layer_whose_rows_differ_has_tokens_of_its_own():
    fault = FaultUse("store-row-zero", layers=(2,))
    arrays = exported(run(spec_for("learned", prompt_ids=(1, 2), steps=1, faults=(fault,))))
    assert arrays["attention_tokens_00001"].tolist() == [0, 1, 2]
    assert arrays["attention_tokens_00001_layer_2"].tolist() == [2, 1, -1]
    assert not [name for name in arrays if name.endswith(("layer_1", "layer_3"))]


def test_a_layer_that_reads_more_keys_leaves_nan_in_the_others():
    fault = FaultUse("mask-unwritten", layers=(1,))
    spec = spec_for("learned", prompt_ids=(1, 2), steps=0, capacity=5, faults=(fault,))
    arrays = exported(run(spec))
    attention = arrays["attention_00000"]
    assert attention.shape == (4, 4, 2, 5)
    assert np.isnan(attention[0, :, :, 2:]).all()
    assert not np.isnan(attention[1]).any()
    assert arrays["attention_tokens_00000_layer_1"].tolist() == [0, 1, -1, -1, -1]


def test_attention_of_a_reprefill_has_new_tokens_only_and_nan_for_those_that_fell_out():
    spec = spec_for("learned", prompt_ids=(1, 2, 3, 4), steps=1, policy="reprefill", capacity=3)
    arrays = exported(run(spec))
    assert arrays["attention_00000"].shape == (4, 4, 4, 3)
    assert np.isnan(arrays["attention_00000"][:, :, 0]).all()
    assert not np.isnan(arrays["attention_00000"][:, :, 1:]).any()
    assert arrays["attention_00001"].shape == (4, 4, 1, 3)
    assert arrays["attention_tokens_00001"].tolist() == [2, 3, 4]


def test_a_step_without_a_model_pass_has_empty_attention():
    requests = (Prefill((1, 2)), Probe(1, 1), Decode())
    arrays = exported(run(spec_for("learned", prompt_ids=(1, 2), requests=requests)))
    assert arrays["attention_00001"].shape == (4, 4, 0, 0)
    assert arrays["attention_tokens_00001"].shape == (0,)
    assert arrays["attention_tokens_00002"].tolist() == [0, 1, -1, 2]


def test_a_small_trace_is_run_again_and_says_so(capsys):
    trace = run(spec_for("rope", prompt_ids=(1, 2, 3), steps=2))
    small = exported(trace, full=False)
    assert "run.kvtrace: run made again (the same machine and versions): identical" in (
        capsys.readouterr().err
    )
    full = exported(trace)
    assert small.keys() == full.keys()
    assert all(np.array_equal(small[name], full[name]) for name in full)


def test_a_small_trace_of_another_run_is_refused(capsys, monkeypatch):
    saved("run.kvtrace", run(spec_for("rope", prompt_ids=(1, 2, 3), steps=2)), full=False)
    other = replace(tiny("rope"), weights=random_weights(tiny("rope").config, 12345))
    monkeypatch.setattr("core.trace_rerun.load_model", lambda name: other)
    assert cli.main(["export", "run.kvtrace", "--out", "out.npz"]) == 2
    said = capsys.readouterr().err
    assert "differs from the recorded one from step 0 on" in said
    assert not Path("out.npz").exists()


def test_one_of_the_two_tensors_can_be_left_out():
    trace = run(spec_for("rope", prompt_ids=(1, 2, 3), steps=0))
    assert sorted(exported(trace, "attention")) == ["attention_00000", "attention_tokens_00000"]
    assert sorted(exported(trace, "logits")) == ["logits"]


def test_out_is_written_under_the_very_name_that_was_given():
    saved("run.kvtrace", run(spec_for("rope", prompt_ids=(1, 2), steps=0)))
    assert cli.main(["export", "run.kvtrace", "--out", "numbers"]) == 0
    assert sorted(path.name for path in Path().iterdir()) == ["numbers", "run.kvtrace"]


# compare


def comparison(a: Trace, b: Trace, capsys, *options: str) -> tuple[int, list[str]]:
    status = cli.main(["compare", saved("a.kvtrace", a), saved("b.kvtrace", b), *options])
    return status, capsys.readouterr().out.splitlines()


def test_equal_traces_say_so_and_name_the_band(capsys):
    trace = run(spec_for("rope", prompt_ids=(1, 2, 3), steps=2, dtype="float32"))
    status, lines = comparison(trace, trace, capsys, "--check")
    assert (status, lines[0]) == (0, "equal: 3 steps")
    inside, logits = (factor["float32"] * 2**-23 for factor in (FIELDS_FACTOR, LOGITS_FACTOR))
    assert lines[1] == (
        f"numbers count as equal within {inside:.1e} (logits {logits:.1e}) times the largest of "
        "their tensor or 1, the rounding of float32"
    )


def test_the_first_difference_is_told_with_both_sides(capsys):
    right, wrong = (
        judged(spec_for("learned", prompt_ids=(1, 2, 3), steps=2, faults=faults)).trace
        for faults in ((), (FaultUse("pos-restart"),))
    )
    status, lines = comparison(right, wrong, capsys)
    assert status == 0
    assert lines[:3] == ["first difference: step 1, position_ids", "  A: [3]", "  B: [0]"]


def test_layer_and_head_are_told_where_the_difference_has_them(capsys):
    right, wrong = (
        run(spec_for("learned", prompt_ids=(1, 2, 3), steps=2, faults=faults))
        for faults in ((), (FaultUse("store-row-zero", layers=(1,)),))
    )
    assert comparison(right, wrong, capsys)[1][0] == (
        "first difference: step 1, layer 1, head 0, keys"
    )


def test_check_is_1_where_traces_differ(capsys):
    long, short = (run(spec_for("rope", prompt_ids=(1, 2), steps=n)) for n in (3, 2))
    status, lines = comparison(long, short, capsys, "--check")
    assert (status, lines[0]) == (1, "first difference: step 3, steps")


def test_a_small_trace_compares_with_a_full_one_of_the_same_run(capsys):
    trace = run(spec_for("rope", prompt_ids=(1, 2, 3), steps=2))
    full, small = saved("full.kvtrace", trace), saved("small.kvtrace", trace, full=False)
    assert cli.main(["compare", full, small, "--check"]) == 0
    assert capsys.readouterr().out.startswith("equal")


# faults


def test_every_fault_is_listed_with_what_shows_and_what_hides_it(capsys):
    assert cli.main(["faults", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    faults = [row for row in rows if row["kind"] == "fault"]
    assert [row["id"] for row in faults] == [fault.id for fault in FAULTS]
    first = {row["id"]: row for row in faults}["store-uneven"]
    assert first == {
        "kind": "fault",
        "id": "store-uneven",
        "title": "Keys and values of different length are accepted",
        "seam": "admit",
        "tier": "A",
        "scenario": {
            "prompt": SEVEN_TOKENS,
            "capacity": 12,
            "steps": 0,
            "then": [
                {"kind": "decode"},
                {"kind": "probe", "n_keys": 2, "n_values": 1},
                {"kind": "decode"},
                {"kind": "decode"},
            ],
            "policy": "refuse",
            "model": "learned",
            "rest": REST,
            "sinks": 0,
            "chunk": None,
            "n_pad": 0,
            "kv_dtype": None,
            "growable": False,
            "n_sequences": 1,
        },
        "hides_in": {**first["scenario"], "capacity": 64, "steps": 8, "then": None},
        "why_hidden": "every append of a decoder has as many keys as values",
    }
    assert [row["id"] for row in rows if row["kind"] == "combination"] == [*COMBINATIONS]


def test_the_list_for_people_has_every_id_title_and_seam(capsys):
    assert cli.main(["faults"]) == 0
    text = capsys.readouterr().out
    for fault in FAULTS:
        assert re.search(rf"^{re.escape(fault.id)} +{re.escape(fault.title)}$", text, re.M)
        assert f"seam {fault.seam}, tier {fault.tier}\n" in text
    assert "then decode, probe with 2 keys and 1 values, 2 × decode" in text
