"""Each lesson is complete, and what it quotes is what its code and the program really give."""

import ast
import json
import re
import runpy
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.engine.seams import Seams
from core.errors import LessonError
from core.faults.catalog import FAULTS, find_faults
from core.faults.shelf import shelf
from core.lessons import (
    LINK,
    PART_TITLES,
    SOURCE,
    Lesson,
    Show,
    lesson_folder,
    load_lesson,
    parse_lesson,
    parse_show,
)
from core.model.loading import load_model
from core.readouts.lines import step_line
from core.spec import FaultUse
from tests.helpers.runs import Judged, judged

NOT_WRITTEN_YET: tuple[str, ...] = ()
"""Faults that have no lesson yet. Each lesson that is written takes its name off this list."""
IDS = [fault.id for fault in FAULTS if fault.id not in NOT_WRITTEN_YET]
LATER_BOX = {"cap-counter-first": (8,), "cap-one-row-test": (4,)}
"""A refusal and a probe show nothing to any query: the box is of a step that does."""
EACH = pytest.mark.parametrize("fault_id", IDS)
DOCKS = {"tokens", "cache", "mask", "attention", "code", "timeline", "inspector"}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VALUE = re.compile(r"(before|after): (\w+) = (.+)")
QUOTED = re.compile(r"step (\d+): ([\w.\[\]]+) = (.+)")
SEES = re.compile(r"step (\d+)(?:, layer (\d+))?, token (\d+): sees (.+)")
SHAPES = re.compile(r"step (\d+): q (\[.+\]), k (\[.+\]), weights (\[.+\])")


@cache
def lesson(fault_id: str) -> Lesson:
    return load_lesson(lesson_folder(fault_id))


@cache
def shown(fault_id: str) -> Judged:
    """The run of the scenario that shows the fault, with the model that it names."""
    scenario = find_faults(fault_id)[0].shows_in
    loaded = load_model(scenario.model)
    spec = scenario.spec(loaded.tokenizer.encode)
    return judged(replace(spec, faults=(FaultUse(fault_id),)), loaded)


def blocks(fault_id: str, part: str, language: str) -> list[str]:
    """Lines of all code blocks of a language in a part."""
    found = FENCE.findall(lesson(fault_id).part(part))
    return [line for name, text in found if name == language for line in text.splitlines()]


def items(fault_id: str, part: str) -> list[str]:
    """The points of a list."""
    return [item.strip() for item in re.split(r"^- ", lesson(fault_id).part(part), flags=re.M)[1:]]


def links(fault_id: str) -> list[str]:
    return [link for part in lesson(fault_id).parts for link in LINK.findall(part.text)]


def values(fault_id: str) -> dict[str, dict[str, Any]]:
    """What a lesson quotes of `before` and of `after`."""
    found: dict[str, dict[str, Any]] = {"before": {}, "after": {}}
    for line in blocks(fault_id, "In the wild", "values"):
        match = VALUE.fullmatch(line)
        assert match, line
        found[match[1]][match[2]] = ast.literal_eval(match[3])
    return found


def plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def facts(fault_id: str, step: int) -> dict[str, Any]:
    """The JSON line of a step; shapes as the field writes them; weights of the last token."""
    run = shown(fault_id)
    record = run.trace.records[step]
    line = step_line(run.trace.records, run.verdicts[step], str)
    if record.layers:
        layer = record.layers[0]
        n_rows, d_head = len(layer.plan.view_slots), layer.queries.shape[-1]
        weights = np.array([each.weights[:, -1] for each in record.layers])
        line["shape"] = {
            "q": [1, *layer.queries.shape],
            "k": [1, layer.new_keys.shape[0], n_rows, d_head],
            "weights": [1, *layer.weights.shape],
        }
        least, most = weights.min(axis=(0, 1)), weights.max(axis=(0, 1))
        line["weight_range"] = np.stack([least, most], axis=1).tolist()
    return line


def follow(line: dict[str, Any], path: str) -> Any:
    """The entry of a path such as `cache.live[7].token_index`."""
    found: Any = line
    for key in re.findall(r"\w+", path):
        found = found[int(key)] if isinstance(found, list) else found[key]
    return found


@EACH
def test_every_fault_has_a_lesson_with_all_parts_in_order(fault_id: str) -> None:
    assert tuple(part.title for part in lesson(fault_id).parts) == PART_TITLES
    assert all(part.text for part in lesson(fault_id).parts)


def test_no_lesson_is_on_the_list_of_those_to_be_written() -> None:
    assert set(NOT_WRITTEN_YET) < {fault.id for fault in FAULTS}
    assert [name for name in NOT_WRITTEN_YET if lesson_folder(name).is_dir()] == []


@EACH
def test_a_lesson_names_its_fault_and_the_seam_that_the_fault_replaces(fault_id: str) -> None:
    assert lesson(fault_id).id == fault_id
    assert lesson(fault_id).seam == find_faults(fault_id)[0].seam


@EACH
def test_a_lesson_has_one_short_rule_to_quote(fault_id: str) -> None:
    rule = lesson(fault_id).rule
    assert rule.endswith(".")
    assert rule.count(". ") == 0
    assert len(rule) <= 100


@EACH
def test_the_links_of_a_lesson_lead_to_panels_and_faults_that_exist(fault_id: str) -> None:
    shows = [parse_show(link) for link in links(fault_id)]
    assert {show.dock for show in shows} <= DOCKS
    for show in shows:
        for name in show.faults or ():
            assert find_faults(name)


@EACH
def test_the_links_of_a_lesson_lead_to_steps_and_slots_of_its_scenario(fault_id: str) -> None:
    run = shown(fault_id)
    for show in map(parse_show, links(fault_id)):
        assert show.step is not None
        assert show.step < len(run.trace.records)
        assert show.slot is None or show.slot <= run.trace.spec.capacity


@EACH
def test_what_a_lesson_links_to_is_in_the_scenario_that_the_link_loads(fault_id: str) -> None:
    """In another run the step may be none, or show nothing of the kind."""
    for show in map(parse_show, links(fault_id)):
        assert show.faults == (fault_id,)


@EACH
def test_a_lesson_cites_the_sources_of_its_fault_and_no_others(fault_id: str) -> None:
    text = "\n".join(part.text for part in lesson(fault_id).parts)
    assert set(SOURCE.findall(text)) == set(find_faults(fault_id)[0].sources)


@EACH
def test_the_code_of_the_question_is_part_of_the_code_that_runs(fault_id: str) -> None:
    before = (lesson_folder(fault_id) / "before.py").read_text("utf-8")
    asked = blocks(fault_id, "Question", "python")
    assert asked
    runs = [line.strip() for line in before.splitlines()]
    assert [line.strip() for line in asked if line.strip() not in runs] == []


@EACH
def test_the_question_does_not_give_the_answer(fault_id: str) -> None:
    question = lesson(fault_id).part("Question")
    assert not LINK.search(question)
    assert lesson(fault_id).rule not in question


@EACH
@pytest.mark.parametrize("name", ["before", "after"])
def test_the_code_of_a_lesson_gives_the_values_that_it_quotes(fault_id: str, name: str) -> None:
    path = lesson_folder(fault_id) / f"{name}.py"
    assert len(path.read_text("utf-8").splitlines()) <= 20
    found = runpy.run_path(str(path))
    quoted = values(fault_id)[name]
    assert quoted
    assert {key: plain(found[key]) for key in quoted} == quoted


@EACH
def test_the_values_of_the_code_before_and_after_differ(fault_id: str) -> None:
    before, after = values(fault_id)["before"], values(fault_id)["after"]
    assert any(before[key] != after[key] for key in before.keys() & after.keys())


@EACH
def test_the_program_shows_what_the_lesson_says_that_it_shows(fault_id: str) -> None:
    matches = [QUOTED.fullmatch(line) for line in blocks(fault_id, "What you see", "record")]
    assert matches
    assert all(matches)
    for _, step, path, value in (m.group(0, 1, 2, 3) for m in matches):
        assert (step, path, follow(facts(fault_id, int(step)), path)) == (
            step,
            path,
            json.loads(value),
        )


@EACH
def test_what_a_lesson_shows_first_is_the_promise_of_its_fault(fault_id: str) -> None:
    promise = find_faults(fault_id)[0].promise
    assert shown(fault_id).wrong_steps[0] == promise.step
    lines = blocks(fault_id, "What you see", "record")
    assert any(line.startswith(f"step {promise.step}:") for line in lines)


def spans(tokens: list[int], n_none: int = 0) -> str:
    """Tokens as a lesson lists them: three in a row or more as a span."""
    words: list[str] = []
    left = sorted(tokens)
    while left:
        n = next((n for n in range(1, len(left)) if left[n] != left[0] + n), len(left))
        words += [f"{left[0]}–{left[n - 1]}"] if n > 2 else [str(token) for token in left[:n]]
        left = left[n:]
    if n_none:
        words.append("1 row of no token" if n_none == 1 else f"{n_none} rows of no token")
    return ", ".join(words) or "none"


def seen_by(fault_id: str, step: int, layer: str | None, token: int) -> str:
    """What a query sees and what it should, in the words of a lesson, from the record."""
    line = facts(fault_id, step)
    at = shown(fault_id).trace.records[step].token_index.index(token)
    of_layer = line["layers"].get(layer, {}).get("visible", line["visible"])
    found = list(of_layer[at]) if of_layer else []
    if found and not line["expected_visible"]:
        return f"{spans(found)}, should be refused"
    n_none = found.count(None)
    right = line["expected_visible"][at]
    both = [each for each in right if each in found]
    extra = [each for each in found if each is not None]
    for each in both:
        extra.remove(each)
    blind = spans([each for each in right if each not in found])
    said = f"{len(both)} of {len(right)} ({spans(both)}), blind to {blind}"
    return f"{said}, too many: {spans(extra, n_none)}" if extra or n_none else said


@EACH
def test_the_box_of_a_lesson_says_what_queries_see_and_are_blind_to(fault_id: str) -> None:
    lines = [SEES.fullmatch(line) for line in blocks(fault_id, "What you see", "sees")]
    boxes = [match for match in lines if match]
    assert boxes
    for step, layer, token, said in (match.groups() for match in boxes):
        assert said == seen_by(fault_id, int(step), layer, int(token))


@EACH
def test_the_box_of_a_lesson_has_the_shapes_of_a_step(fault_id: str) -> None:
    lines = [SHAPES.fullmatch(line) for line in blocks(fault_id, "What you see", "sees")]
    [(step, *shapes)] = [match.groups() for match in lines if match]
    quoted = dict(zip(("q", "k", "weights"), map(json.loads, shapes), strict=True))
    assert quoted == facts(fault_id, int(step))["shape"]


@EACH
def test_the_box_of_a_lesson_is_of_the_first_wrong_step_and_ends_in_words(fault_id: str) -> None:
    """Where nothing is visible and nothing should be, or it shows a step later, of another one."""
    *_, words = lines = blocks(fault_id, "What you see", "sees")
    assert not SEES.fullmatch(words)
    assert not SHAPES.fullmatch(words)
    assert 20 < len(words) < 100
    steps = {int(match[1]) for line in lines if (match := SEES.fullmatch(line))}
    promise = find_faults(fault_id)[0].promise
    assert steps & {promise.step, promise.first_wrong_logits, *LATER_BOX.get(fault_id, ())}


@EACH
def test_each_wrong_answer_is_quoted_and_refuted_by_a_link(fault_id: str) -> None:
    found = items(fault_id, "Answers that sound right and are not")
    assert len(found) >= 2
    for item in found:
        assert re.match(r"“[^”]+” \S", item)
        assert LINK.search(item)


@EACH
def test_each_follow_up_is_a_question_with_its_answer(fault_id: str) -> None:
    found = items(fault_id, "Follow-ups")
    assert len(found) >= 2
    for item in found:
        assert re.match(r"\*[^*]+\?\* \S", item.replace("\n", " "))


def test_rows_of_one_array_have_equal_weights_as_the_lesson_on_aliasing_says() -> None:
    for layer in shown("store-alias-in").trace.records[3].layers[:1]:
        for head in layer.weights[:, 0]:
            assert head[7] == head[8] == head[9]


def test_rows_scaled_in_place_have_weights_that_come_together_as_their_lesson_says() -> None:
    for layer in shown("store-alias-out").trace.records[5].layers:
        old = layer.weights[:, 0, :7]
        assert np.ptp(old, axis=-1).max() < 0.0005


def test_empty_rows_have_equal_weights_in_each_row_of_each_head() -> None:
    for layer in shown("mask-unwritten").trace.records[0].layers:
        empty = layer.weights[:, :, 7:]
        assert (empty == empty[:, :, :1]).all()
        assert (empty > 0).all()


def test_a_link_is_read_key_by_key() -> None:
    link = "show:step=1;dock=mask;slot=7;token=6;layer=2;head=3;fault=a-b,c-d;play=1"
    assert parse_show(link) == Show(
        step=1,
        dock="mask",
        slot=7,
        token_index=6,
        layer=2,
        head=3,
        faults=("a-b", "c-d"),
        is_played=True,
    )
    assert parse_show("show:fault=none") == Show(faults=())


@pytest.mark.parametrize(
    "link",
    [
        "step=1",
        "show:",
        "show:step",
        "show:step=",
        "show:step=one",
        "show:step=-1",
        "show:step=1;step=2",
        "show:place=1",
        "show:dock=",
        "show:fault=a,,b",
        "show:play=0",
    ],
)
def test_a_link_that_cannot_be_understood_is_named(link: str) -> None:
    with pytest.raises(LessonError, match=re.escape(repr(link))):
        parse_show(link)


HEAD = '+++\nid = "x"\nlevel = 1\nminutes = 3\nseam = "store"\n+++\n'
PARTS = dict.fromkeys(PART_TITLES, "Some words.") | {"Full answer": "> Rule: be right."}
CODE = {"before.py": "a = 1\n", "after.py": "a = 2\n"}


def written(parts: dict[str, str], head: str = HEAD) -> str:
    return head + "".join(f"\n## {title}\n\n{text}\n" for title, text in parts.items())


def test_a_line_that_links_to_a_code_file_shows_the_file() -> None:
    text = written(PARTS | {"In the wild": "[before.py](before.py)"})
    assert "```python\na = 1\n```" in parse_lesson("x", text, CODE).part("In the wild")


def test_a_heading_in_a_code_block_is_code() -> None:
    text = written(PARTS | {"Question": "```\n## no heading\n```"})
    assert "## no heading" in parse_lesson("x", text, CODE).part("Question")


@pytest.mark.parametrize(
    "text",
    [
        written(PARTS, head=""),
        written(PARTS, head="+++\nid = x\n+++\n"),
        written(PARTS, head=HEAD.replace('"x"', '"y"')),
        written(PARTS, head=HEAD.replace("level = 1", "level = 4")),
        written(PARTS, head=HEAD.replace("minutes = 3", 'minutes = "3"')),
        written(PARTS, head=HEAD.replace('seam = "store"', "")),
        written({title: text for title, text in PARTS.items() if title != "Short answer"}),
        written(dict(reversed(PARTS.items()))),
        written(PARTS | {"Full answer": "no rule"}),
        written(PARTS | {"In the wild": "[other.py](other.py)"}),
        written(PARTS | {"Question": "[there](show:nowhere=1)"}),
    ],
    ids="head toml id level minutes seam missing order rule code link".split(),
)
def test_a_broken_lesson_is_refused(text: str) -> None:
    with pytest.raises(LessonError):
        parse_lesson("x", text, CODE)


def test_a_folder_without_a_lesson_is_refused(tmp_path) -> None:
    with pytest.raises(LessonError, match="cannot be read"):
        load_lesson(tmp_path)


def test_every_seam_has_a_rule_of_one_sentence() -> None:
    rules = shelf().rules
    assert [rule.seam for rule in rules] == [field.name for field in fields(Seams)]
    for rule in rules:
        assert re.fullmatch(r"[A-Z].+\.", rule.sentence)
        assert "Args:" not in rule.text


def test_a_rule_names_the_faults_that_break_it() -> None:
    broken = {rule.seam: rule.faults for rule in shelf().rules}
    assert broken["store"][:2] == ("store-row-zero", "store-alias-in")
    assert broken["rotate"] == ()
    assert {name for names in broken.values() for name in names} == {f.id for f in FAULTS}


def test_one_lesson_that_cannot_be_read_is_told_and_the_others_are_there(monkeypatch) -> None:
    def load(folder: Path) -> Lesson:
        if folder.name == "cap-early":
            raise LessonError("lesson 'cap-early' has no head")
        return load_lesson(folder)

    monkeypatch.setattr("core.faults.shelf.load_lesson", load)
    shelf.cache_clear()
    topics = shelf().topics
    shelf.cache_clear()
    (broken,) = topics["cap-early"]
    assert (broken.lesson, broken.trouble) == (None, "lesson 'cap-early' has no head")
    assert [name for name in IDS if topics[name][0].lesson is None] == ["cap-early"]


def test_a_combination_stands_for_the_lessons_of_its_members() -> None:
    assert [topic.fault for topic in shelf().topics["both-bugs"]] == [
        "pos-restart",
        "mask-top-left",
    ]
