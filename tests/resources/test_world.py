"""The world's stories: the same for a seed, in its grammar, and true to what they said."""

import re
from itertools import pairwise

import pytest

from resources.training.grammar import (
    COLOURS,
    PEOPLE,
    PLACES,
    QUESTION_TYPES,
    THINGS,
    is_grammatical,
    split_sentences,
)
from resources.training.world import MAX_THINGS, question_case, tell_story

STATEMENTS = (
    ("where", r"^The (\w+) is (\w+)\.$", PLACES),
    ("colour", r"^The (\w+) is (\w+)\.$", COLOURS),
    ("where", r"^\w+ (?:put|left|moved|carried) the (\w+) (\w+)\.$", PLACES),
    ("colour", r"^\w+ painted the (\w+) (\w+)\.$", COLOURS),
    ("who", r"^\w+ (?:gave|handed) the (\w+) to (\w+)\.$", PEOPLE),
    ("who", r"^The (\w+) (?:is with|was taken by) (\w+)\.$", PEOPLE),
)
NAMED_FIRST = r"^(\w+) (?:has|took) the (\w+)\.$"
ASKED = {
    "where": r"^Where is the (\w+)\? (\w+)\.$",
    "who": r"^Who has the (\w+)\? (\w+)\.$",
    "colour": r"^What colour is the (\w+)\? (\w+)\.$",
}


def _stories():
    return [
        tell_story(seed, 1 + seed % MAX_THINGS, 60 + seed, habit)
        for seed in range(100)
        for habit in (0.0, 0.8)
    ]


def _split(text):
    return re.findall(r"[A-Z][^.]*\.", text)


def _stated(sentence):
    if found := re.match(NAMED_FIRST, sentence):
        return "who", found[2], found[1]
    for kind, pattern, answers in STATEMENTS:
        found = re.match(pattern, sentence)
        if found and found[2] in answers:
            return kind, found[1], found[2]
    return None


def test_a_seed_always_tells_the_same_story():
    assert tell_story("a", 5, 120) == tell_story("a", 5, 120)


def test_two_seeds_tell_different_stories():
    assert tell_story("a", 5, 120).words != tell_story("b", 5, 120).words


def test_a_seed_tells_the_same_story_in_another_process():
    assert tell_story(0, 1, 30).text == (
        "Karl painted the lamp pink. What colour is the lamp? pink. Mia left the lamp ashore. "
        "Then everyone went home."
    )


def test_by_habit_alone_things_and_places_come_in_the_order_of_their_lists():
    text = tell_story(2, 6, 200, habit=1.0).text
    things = list(dict.fromkeys(word for word in re.findall(r"\w+", text) if word in THINGS))
    start = THINGS.index(things[0])
    assert things == [THINGS[(start + n) % len(THINGS)] for n in range(6)]
    told = [stated for sentence in _split(text) if (stated := _stated(sentence))]
    places = [answer for kind, _, answer in told if kind == "where"]
    assert len(places) > 3
    for place, follower in pairwise(places):
        assert follower == PLACES[(PLACES.index(place) + 1) % len(PLACES)]


def test_every_sentence_of_a_story_is_grammatical():
    wrong = [
        sentence
        for story in _stories()
        for sentence in split_sentences(story.words)
        if not is_grammatical(sentence)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "sentence",
    [
        "The kite is Ida .",
        "Ida put the kite red .",
        "Ida put the outside kite .",
        "Where is the kite ? red .",
        "Where is the kite ?",
        "The kite is outside",
        "the kite is outside .",
        "The kite is outside . .",
        "",
    ],
)
def test_a_sentence_of_another_form_is_not_grammatical(sentence):
    assert not is_grammatical(tuple(sentence.split()))


def test_a_story_is_never_longer_than_asked_for():
    assert all(len(tell_story(seed, 12, 60 + seed).words) <= 60 + seed for seed in range(150))


def test_answers_agree_with_a_second_reading_of_the_text():
    n_answers = 0
    for story in _stories():
        facts = {}
        for sentence in _split(story.text):
            if stated := _stated(sentence):
                kind, thing, answer = stated
                facts[kind, thing] = answer
                if kind in ("where", "who"):
                    facts.pop(("who" if kind == "where" else "where", thing), None)
                continue
            for kind, pattern in ASKED.items():
                if found := re.match(pattern, sentence):
                    assert found[2] == facts[kind, found[1]]
                    n_answers += 1
    assert n_answers == sum(len(story.questions) for story in _stories())


def test_questions_say_where_their_answers_stand():
    for story in _stories():
        for question in story.questions:
            assert story.words[question.answer_at] == question.answer
            assert story.words[question.answer_at - 1] == "?"
            assert story.words[question.answer_at - 2] == question.thing
            assert story.words[question.answer_at - question.distance] == question.answer


@pytest.mark.parametrize("kind", QUESTION_TYPES)
@pytest.mark.parametrize("n_things", [1, 2, 12])
def test_a_question_case_asks_for_the_thing_at_the_distance(kind, n_things):
    for seed in range(20):
        case = question_case(seed, kind, n_things, 80)
        (question,) = case.questions
        assert (question.kind, question.answer) == (kind, case.words[-2])
        assert question.distance >= 80
        assert len({word for word in case.words if word in THINGS}) == n_things
