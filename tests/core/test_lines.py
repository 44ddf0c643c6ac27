import json
from dataclasses import replace

import numpy as np
import pytest

from core.readouts.lines import end_line, run_line, step_line
from core.spec import Decode, FaultUse, Prefill, Probe, Rollback
from core.trace_json import to_json
from tests.helpers.runs import Judged, judged, spec_for, tiny


def decode(token_ids) -> str:
    return "+".join(map(str, token_ids))


def lines_of(run: Judged) -> list[dict]:
    return [step_line(run.trace.records, verdict, decode) for verdict in run.verdicts]


def lines_for(scheme: str, **settings) -> list[dict]:
    return lines_of(judged(spec_for(scheme, **settings)))


def live(*rows) -> list[dict]:
    names = ("slot", "row", "token_index", "position_id", "token_id")
    return [dict(zip(names, row, strict=True)) for row in rows]


def test_the_run_line_names_model_spec_and_prompt():
    spec = spec_for("rope", prompt_ids=(1, 2), capacity=9)
    assert run_line(spec, judged(spec).trace.model) == {
        "kind": "run",
        "schema": 1,
        "model": {
            "name": "tiny-rope",
            "path": None,
            "scheme": "rope",
            "layers": 4,
            "heads": 4,
            "kv_heads": 2,
        },
        "spec": to_json(spec),
        "prompt_ids": [1, 2],
    }


def test_the_line_of_a_prefill_is_as_written_by_hand():
    run = judged(spec_for("learned", prompt_ids=(5, 6, 7), steps=1, capacity=4, force_ids=(9,)))
    line = lines_of(run)[0]
    verdict = run.verdicts[0].logits
    assert verdict is not None
    assert line == {
        "kind": "step",
        "step": 0,
        "request": 0,
        "phase": "prefill",
        "token_ids": [5, 6, 7],
        "recomputed": 0,
        "position_ids": [0, 1, 2],
        "expected_position_ids": [0, 1, 2],
        "visible": [[0], [0, 1], [0, 1, 2]],
        "expected_visible": [[0], [0, 1], [0, 1, 2]],
        "readable": [[0], [0, 1], [0, 1, 2]],
        "expected_readable": [[0], [0, 1], [0, 1, 2]],
        "cache": {
            "capacity": 4,
            "length": 3,
            "expected_length": 3,
            "seen": 3,
            "expected_seen": 3,
            "live": live((0, 0, 0, 0, 5), (1, 1, 1, 1, 6), (2, 2, 2, 2, 7)),
            "expected_live": None,
        },
        "layers": {},
        "next": {
            "token_id": 9,
            "text": "9",
            "forced": True,
            "predicted": int(np.argmax(run.trace.records[0].logits)),
        },
        "reference": {
            "token_id": int(np.argmax(verdict.reference)),
            "max_abs_logit_error": verdict.max_abs_error,
            "kl": verdict.kl,
        },
        "verdict": {
            "logits": "right",
            "policy": "right",
            "mechanism": "right",
            "first_difference": None,
        },
        "outcome": "ok",
        "expected_outcome": "ok",
    }


def test_a_refused_step_reads_nothing():
    line = lines_for("learned", prompt_ids=(5, 6, 7), steps=2, capacity=4)[2]
    empty = ("token_ids", "position_ids", "expected_position_ids", "visible", "expected_visible")
    assert [line[name] for name in empty] == [[]] * len(empty)
    assert line["outcome"] == line["expected_outcome"] == {"refused": {"needed": 1, "free": 0}}
    assert (line["next"], line["reference"], line["verdict"]["logits"]) == (None, None, None)
    assert line["verdict"]["mechanism"] == "right"
    assert line["cache"]["length"] == line["cache"]["seen"] == 4


def test_the_position_limit_is_an_outcome():
    spec = spec_for("learned", prompt_ids=(7,) * 256, steps=1, policy="window", capacity=200)
    assert lines_of(judged(spec))[-1]["outcome"] == {"position_limit": 256}


def test_a_window_shows_what_each_query_of_a_chunk_saw_and_what_is_left_after_commit():
    lines = lines_for(
        "rope", prompt_ids=(11, 12, 13, 14, 15), steps=0, policy="window", capacity=3, chunk=4
    )
    assert lines[0]["visible"] == [[0], [0, 1], [0, 1, 2], [1, 2, 3]]
    assert lines[0]["cache"]["live"] == live((1, 1, 1, 1, 12), (2, 2, 2, 2, 13), (3, 3, 3, 3, 14))
    assert lines[1]["visible"] == lines[1]["expected_visible"] == [[2, 3, 4]]
    assert lines[1]["position_ids"] == [4]
    assert (lines[1]["cache"]["length"], lines[1]["cache"]["seen"]) == (3, 5)
    assert lines[0]["next"] == {
        "token_id": 15,
        "text": "15",
        "forced": True,
        "predicted": lines[0]["next"]["predicted"],
    }


def test_tokens_that_fall_out_of_a_reprefill_have_no_position_and_see_nothing():
    lines = lines_for(
        "learned", prompt_ids=(1, 2, 3, 4, 5), steps=1, policy="reprefill", capacity=3
    )
    first, second = lines[0], lines[1]
    assert first["position_ids"] == first["expected_position_ids"] == [None, None, 0, 1, 2]
    assert first["visible"] == first["readable"] == [[], [], [2], [2, 3], [2, 3, 4]]
    assert first["expected_visible"] == first["expected_readable"] == first["visible"]
    assert (first["recomputed"], second["recomputed"]) == (0, 2)
    assert (second["position_ids"], second["visible"]) == ([2], [[3, 4, 5]])
    assert [entry["position_id"] for entry in second["cache"]["live"]] == [0, 1, 2]


def test_reassigned_positions_are_ranks_after_commit():
    line = lines_for(
        "alibi",
        prompt_ids=(1, 2, 3, 4, 5),
        steps=1,
        policy="sinks",
        sinks=1,
        capacity=3,
        reassign_positions=True,
    )[1]
    assert line["position_ids"] == line["expected_position_ids"] == [2]
    held = [(entry["token_index"], entry["position_id"]) for entry in line["cache"]["live"]]
    assert sorted(held) == [(0, 0), (4, 1), (5, 2)]


def test_a_row_is_named_by_the_token_that_is_really_there():
    lines = lines_for(
        "learned",
        prompt_ids=(1, 2, 3),
        steps=1,
        capacity=6,
        force_ids=(50,),
        faults=(FaultUse("store-row-zero"),),
    )
    assert lines[1]["visible"] == [[1, 2, 3, None]]
    assert lines[1]["expected_visible"] == [[0, 1, 2, 3]]
    assert lines[1]["cache"]["live"] == live(
        (0, 0, 3, 3, 50), (1, 1, 1, 1, 2), (2, 2, 2, 2, 3), (3, 3, None, None, None)
    )
    # The policy kept the right tokens; the rows that are there are others.
    held = [{"token_index": token, "position_id": token} for token in range(4)]
    assert lines[1]["cache"]["expected_live"] == held
    assert lines[1]["verdict"] == {
        "logits": "wrong",
        "policy": "right",
        "mechanism": "wrong",
        "first_difference": {"layer": 0, "head": 0, "field": "keys"},
    }


def test_a_step_that_leaves_the_wrong_tokens_behind_tells_which_should_be_held():
    faults = (FaultUse("evict-newest"),)
    settings = {"policy": "window", "capacity": 3, "force_ids": (50,), "faults": faults}
    line = lines_for("learned", prompt_ids=(1, 2, 3), steps=1, **settings)[1]
    assert line["cache"]["live"] == live((0, 0, 0, 0, 1), (1, 1, 1, 1, 2), (3, 3, 3, 3, 50))
    held = [{"token_index": token, "position_id": token} for token in (1, 2, 3)]
    assert line["cache"]["expected_live"] == held
    assert line["verdict"] == {
        "logits": "right",
        "policy": "wrong",
        "mechanism": "right",
        "first_difference": {"layer": None, "head": None, "field": "contents"},
    }


def test_rows_of_a_probe_and_of_padding_are_not_among_the_tokens_to_be_held():
    prompt = (1, 2, 3)
    requests = (Prefill(prompt, 2), Probe(1, 1), Decode())
    for line in lines_for("learned", prompt_ids=prompt, capacity=9, requests=requests):
        assert line["cache"]["expected_live"] is None


def test_an_evicted_token_whose_row_is_still_there_keeps_its_numbers():
    lines = lines_for(
        "learned",
        prompt_ids=(1, 2, 3),
        steps=3,
        policy="window",
        capacity=3,
        force_ids=(50, 51, 52),
        faults=(FaultUse("store-row-zero"),),
    )
    entries = {entry["row"]: entry for entry in lines[3]["cache"]["live"]}
    assert entries[1] == {
        "slot": 1,
        "row": 1,
        "token_index": 1,
        "position_id": 1,
        "token_id": 2,
    }


def test_only_layers_that_differ_from_layer_0_are_told_and_only_what_differs():
    lines = lines_for(
        "rope",
        prompt_ids=(1, 2, 3),
        steps=1,
        capacity=6,
        force_ids=(50,),
        faults=(FaultUse("store-row-zero", layers=(2,)),),
    )
    assert lines[0]["layers"] == {}
    assert lines[1]["layers"] == {
        "2": {
            "visible": [[1, 2, 3, None]],
            "cache": {
                "live": live(
                    (0, 0, 3, 3, 50), (1, 1, 1, 1, 2), (2, 2, 2, 2, 3), (3, 3, None, None, None)
                )
            },
        }
    }


def test_a_counted_slot_outside_the_buffer_has_no_row():
    line = lines_for(
        "learned",
        prompt_ids=(1, 2, 3),
        steps=1,
        capacity=3,
        faults=(FaultUse("cap-counter-first"),),
    )[1]
    assert line["cache"]["length"] == 4
    assert line["cache"]["live"][3] == live((3, None, None, None, None))[0]
    assert line["verdict"]["first_difference"] == {"layer": None, "head": None, "field": "length"}


def test_a_row_of_an_accepted_probe_is_seen_as_null_and_rightly_so():
    prompt = (1, 2, 3)
    requests = (Prefill(prompt), Probe(1, 1), Decode())
    line = lines_for("learned", prompt_ids=prompt, capacity=9, requests=requests)[2]
    assert line["visible"] == line["expected_visible"] == [[0, 1, 2, 3, None]]
    assert line["readable"] == line["expected_readable"] == [[0, 1, 2, 3]]
    assert line["verdict"]["mechanism"] == "right"


def test_lists_of_more_than_512_numbers_are_half_open_ranges():
    line = lines_for("rope", prompt_ids=tuple(range(256)) * 2 + (9, 9), steps=0, capacity=600)[0]
    assert line["ranges"] is True
    assert line["position_ids"] == [[0, 514]]
    assert line["token_ids"] == [[0, 256], [0, 256], [9, 10], [9, 10]]
    assert line["visible"][511] == list(range(512))
    assert line["visible"][512] == line["expected_readable"][512] == [[0, 513]]
    assert len(line["cache"]["live"]) == 514


def test_a_null_between_ranges_stays_by_itself():
    line = lines_for("rope", prompt_ids=(3,) * 600, steps=0, capacity=500, policy="reprefill")[0]
    assert line["position_ids"] == [*[None] * 100, [0, 500]]


def test_lines_of_short_lists_do_not_speak_of_ranges():
    assert all("ranges" not in line for line in lines_for("rope", steps=1))


@pytest.mark.parametrize(
    ("number", "text"), [(float("nan"), "nan"), (float("inf"), "inf"), (-float("inf"), "-inf")]
)
def test_numbers_that_are_not_finite_are_text(number, text):
    run = judged(spec_for("learned", steps=0))
    (verdict,) = run.verdicts
    assert verdict.logits is not None
    changed = replace(verdict, logits=replace(verdict.logits, max_abs_error=number, kl=number))
    line = step_line(run.trace.records, changed, decode)
    assert line["reference"]["max_abs_logit_error"] == line["reference"]["kl"] == text
    json.dumps(line, allow_nan=False)


def end_of(run: Judged) -> dict:
    assert run.trace.end is not None
    return end_line(run.trace.records, run.verdicts, run.trace.end, decode)


def test_the_end_line_tells_the_text_that_was_read():
    run = judged(spec_for("learned", prompt_ids=(1, 2), steps=2, force_ids=(8, 9)))
    assert end_of(run) == {
        "kind": "end",
        "reason": "steps",
        "text": "1+2+8+9",
        "first_wrong_step": None,
        "first_wrong_logits": None,
        "diagnosis": [],
    }


def test_tokens_taken_back_are_no_part_of_the_text():
    requests = (Prefill((1, 2)), Decode(), Decode(), Rollback(1))
    spec = spec_for("learned", prompt_ids=(1, 2), force_ids=(8, 9), requests=requests)
    assert end_of(judged(spec))["text"] == "1+2+8"


def test_the_end_line_names_the_first_wrong_step_and_the_first_wrong_logits_apart():
    requests = (Prefill((1, 2, 3)), Decode(), Rollback(1), Decode())
    spec = spec_for(
        "learned", capacity=3, requests=requests, faults=(FaultUse("cap-counter-first"),)
    )
    end = end_of(judged(spec))
    assert end["first_wrong_step"] == 1
    assert end["first_wrong_logits"] != 1


def test_a_false_refusal_is_a_wrong_step_without_wrong_logits():
    spec = spec_for("learned", prompt_ids=(1, 2), capacity=3, faults=(FaultUse("cap-early"),))
    end = end_of(judged(spec))
    assert (end["reason"], end["first_wrong_step"], end["first_wrong_logits"]) == (
        "refused",
        1,
        None,
    )


def test_every_line_of_every_policy_is_plain_json():
    for policy, more in (
        ("refuse", {}),
        ("window", {}),
        ("reprefill", {}),
        ("sinks", {"sinks": 1}),
    ):
        for line in lines_for("rope", policy=policy, capacity=8, steps=4, chunk=3, **more):
            assert json.loads(json.dumps(line, allow_nan=False)) == line


def test_the_text_of_a_token_is_what_the_tokenizer_makes_of_it():
    run = judged(spec_for("learned", steps=0, force_ids=(ord("A"),)))
    tokenizer = tiny("learned").tokenizer
    line = step_line(run.trace.records, run.verdicts[0], lambda ids: tokenizer.decode(list(ids)))
    assert line["next"]["text"] == "A"


def test_the_end_line_names_the_mechanism_with_its_evidence_and_its_rivals():
    faulty = spec_for("learned", steps=3, faults=(FaultUse("pos-restart"),))
    [found] = end_of(judged(faulty))["diagnosis"]
    assert found["mechanism"] == "position ids start again at 0: the past is not added"
    assert found["preset_like"] == "pos-restart"
    assert found["where"] == {"step": 1, "layer": None, "head": None, "field": "position_ids"}
    assert "token 7 was given position id 0; expected 7" in found["evidence"][0]
    assert [set(rival) for rival in found["rivals"]] == [{"preset_like", "separate_by"}]
    json.dumps(found, allow_nan=False)
