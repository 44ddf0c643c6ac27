"""The list of commands: complete, without two on one key, with a reason where one is off."""

import re
from collections import Counter

import pytest
from PySide6.QtGui import QKeySequence

from app.action_spec import ActionSpec
from app.actions import ACTIONS
from app.situation import Situation
from resources import resource_path

BY_ID = {spec.id: spec for spec in ACTIONS}
STARTING = Situation(
    is_ready=False,
    is_broken=False,
    is_starting=True,
    is_busy=False,
    is_playing=False,
    n_records=0,
    step=0,
    end=None,
    first_wrong=None,
    is_judged=True,
)


def situation(**facts: object) -> Situation:
    usual = {"is_ready": True, "n_records": 5, "step": 2}
    known = {name: getattr(STARTING, name) for name in STARTING.__slots__}
    return Situation(**{**known, **usual, **facts})


def keys_of(spec: ActionSpec) -> list[str]:
    return [QKeySequence(key).toString() for key in (*spec.keys, *spec.soft_keys)]


def test_no_key_starts_two_commands():
    counted = Counter(key for spec in ACTIONS for key in keys_of(spec))
    assert [key for key, n in counted.items() if n > 1] == []


def test_every_key_is_known_to_qt():
    assert [spec.id for spec in ACTIONS if "" in keys_of(spec)] == []


def test_keys_that_always_work_are_function_keys_or_held_with_ctrl():
    strong = re.compile(r"(Ctrl\+|Alt\+)|(Shift\+)?F\d+$")
    assert [key for spec in ACTIONS for key in spec.keys if not strong.match(key)] == []


def test_every_command_says_what_it_does_and_stands_in_a_menu():
    for spec in ACTIONS:
        assert not spec.text[0].islower()
        assert spec.menu
        assert len(spec.tooltip) > len(spec.text)


def test_every_icon_is_there():
    names = {spec.icon for spec in ACTIONS if spec.icon}
    missing = [name for name in names if not resource_path("icons", f"{name}.svg").is_file()]
    assert missing == []


@pytest.mark.parametrize(
    ("action", "keys"),
    [
        ("play", ["F5", "Space", "K"]),
        ("step", ["F10", "Right", "."]),
        ("back", ["Shift+F10", "Left", ","]),
        ("first", ["Home"]),
        ("last", ["End"]),
        ("jump-back", ["J", "Shift+Left"]),
        ("jump-on", ["L", "Shift+Right"]),
        ("stop", ["Shift+F5"]),
        ("restart", ["Ctrl+R"]),
        ("slower", ["[", "<"]),
        ("faster", ["]", ">"]),
        ("go-to", ["Ctrl+G"]),
        ("palette", ["Ctrl+Shift+P"]),
        ("shortcuts", ["?"]),
        ("export", ["Ctrl+Shift+E"]),
        ("text-larger", ["Ctrl++", "Ctrl+="]),
        ("text-smaller", ["Ctrl+-"]),
        ("text-usual", ["Ctrl+0"]),
    ],
)
def test_the_keys_of_debuggers_and_players(action, keys):
    assert keys_of(BY_ID[action]) == keys


@pytest.mark.parametrize(
    ("action", "facts", "reason"),
    [
        ("step", {"is_ready": False, "n_records": 0}, "engine is starting"),
        ("step", {"n_records": 0}, "no step yet"),
        ("step", {"step": 4, "end": "refused"}, "larger capacity"),
        ("step", {"step": 4, "end": "end_of_text"}, "ended its text"),
        ("play", {"step": 4, "end": "refused"}, "larger capacity"),
        ("back", {"step": 0}, "first step"),
        ("last", {"step": 4}, "newest step"),
        ("first-wrong", {}, "no step of this run is wrong"),
        ("first-wrong", {"is_judged": False}, "pending"),
        ("stop", {}, "nothing is running"),
        ("restart", {"is_ready": False}, "engine is starting"),
        ("save", {"is_ready": False}, "engine is starting"),
        ("step", {"is_ready": False, "step": 4}, "engine is starting"),
        ("play", {"is_ready": False, "step": 4}, "engine is starting"),
    ],
)
def test_a_command_that_is_off_says_why(action, facts, reason):
    assert reason in (BY_ID[action].blocked(situation(**facts)) or "")


@pytest.mark.parametrize(
    ("action", "facts"),
    [
        ("step", {"step": 4}),
        ("step", {"step": 2, "end": "refused"}),
        ("play", {"step": 4, "end": "refused", "is_playing": True}),
        ("back", {}),
        ("back", {"is_ready": False}),
        ("step", {"is_ready": False}),
        ("first", {"is_ready": False}),
        ("go-to", {"is_ready": False}),
        ("last", {}),
        ("first-wrong", {"first_wrong": 3}),
        ("stop", {"is_playing": True}),
        ("stop", {"is_busy": True}),
    ],
)
def test_a_command_that_is_possible_is_on(action, facts):
    assert BY_ID[action].blocked(situation(**facts)) is None


@pytest.mark.parametrize("action", ["play", "step", "jump-on"])
def test_a_command_that_may_need_the_engine_says_that_it_is_starting(action):
    recorded = situation(is_ready=False)
    spec = BY_ID[action]
    assert spec.note is not None
    assert spec.blocked(recorded) is None
    assert "engine starting" in (spec.note(recorded) or "").lower()
    assert spec.note(situation(is_ready=True)) is None
