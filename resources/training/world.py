"""Stories of a small world of people and things, and questions about them; the same for a seed.

A story states where things are, who has them and what colour they are; things are put, moved,
taken, given and painted. Questions ask for the latest statement, and the answer is the one word
after the question mark.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from resources.training.grammar import (
    ANSWER_SLOT,
    CATEGORIES,
    CLOSING,
    FILLERS,
    FIRST_COLOUR,
    FIRST_HOLDER,
    FIRST_PLACE,
    GIVEN,
    LONGEST_SENTENCE,
    NEXT_COLOUR,
    NEXT_PLACE,
    PEOPLE,
    PUT_DOWN,
    QUESTION_TYPES,
    QUESTIONS,
    TAKEN,
    THINGS,
    as_text,
)

MAX_THINGS = 12
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a story.

    `answer_at` is the place of the answer among the words; `distance` counts words back to where
    the answer was stated; `n_things` things had been mentioned; `n_changes` counts how often this
    answer changed; `is_answer_first`: the statement named the answer before the thing.
    """

    kind: str
    thing: str
    answer: str
    answer_at: int
    distance: int
    n_things: int
    n_changes: int
    is_answer_first: bool


@dataclass(frozen=True, slots=True)
class Story:
    """Words of one story, punctuation included, and the questions it holds in order."""

    words: tuple[str, ...]
    questions: tuple[Question, ...]

    @property
    def text(self) -> str:
        """The story as people write it."""
        return as_text(self.words)


@dataclass(slots=True)
class _Fact:
    answer: str
    stated_at: int
    n_changes: int
    is_answer_first: bool
    is_asked: bool = False


@dataclass(slots=True)
class Teller:
    """Tells one story sentence by sentence and keeps what is true in it."""

    rng: random.Random
    cast: tuple[str, ...]
    habit: float
    last: dict[object, object] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    facts: dict[str, dict[str, _Fact]] = field(default_factory=dict)

    def state(self, kind: str, thing: str) -> None:
        """Say a fact of this kind about the thing: its first, or a change of the one before."""
        known = self.facts.setdefault(thing, {})
        templates = self._fact_templates(kind, known)
        slot = ANSWER_SLOT[kind]
        before = known.get(kind)
        values = self.cast if kind == "who" else CATEGORIES[slot]
        answer = self._pick(CATEGORIES[slot], values, before.answer if before else None)
        holder = known.get("who")
        actor = holder.answer if holder else self._pick(PEOPLE, self.cast, answer)
        actor_slot = "<person>" if kind == "where" else "<other>"
        template = self._pick(templates, templates, None)
        spoken = {actor_slot: actor, "<thing>": thing, slot: answer}
        is_answer_first = template.index(slot) < template.index("<thing>")
        at = self._say(template, spoken, slot)
        self.last[templates] = template
        self.last |= {CATEGORIES[word]: spoken[word] for word in template if word in spoken}
        self.last[QUESTION_TYPES] = kind
        known[kind] = _Fact(answer, at, before.n_changes + 1 if before else 0, is_answer_first)
        if kind != "colour":
            known.pop("where" if kind == "who" else "who", None)

    @staticmethod
    def _fact_templates(kind: str, known: Mapping[str, _Fact]) -> tuple[tuple[str, ...], ...]:
        if kind == "colour":
            return NEXT_COLOUR if "colour" in known else FIRST_COLOUR
        if kind == "where":
            return PUT_DOWN if "who" in known else NEXT_PLACE if "where" in known else FIRST_PLACE
        return GIVEN if "who" in known else TAKEN if "where" in known else FIRST_HOLDER

    def ask(self, kind: str, thing: str) -> None:
        """Ask for a fact that is known, and answer it."""
        fact = self.facts[thing][kind]
        slot = ANSWER_SLOT[kind]
        at = self._say(QUESTIONS[kind], {"<thing>": thing, slot: fact.answer}, slot)
        self.questions.append(
            Question(
                kind,
                thing,
                fact.answer,
                at,
                at - fact.stated_at,
                len(self.facts),
                fact.n_changes,
                fact.is_answer_first,
            )
        )
        fact.is_asked = True

    def fill(self) -> None:
        """Say a sentence that changes nothing."""
        person = self.rng.choice(self.cast)
        other = self._pick(PEOPLE, self.cast, person)
        self._say(self.rng.choice(FILLERS), {"<person>": person, "<other>": other}, None)

    def close(self) -> Story:
        """Say the last sentence and return the story."""
        self._say(CLOSING, {}, None)
        return Story(tuple(self.words), tuple(self.questions))

    def askable(self) -> list[tuple[str, str]]:
        """Return (kind, thing) of every true fact that was not asked for since it was said."""
        return [
            (kind, thing)
            for thing, known in self.facts.items()
            for kind, fact in known.items()
            if not fact.is_asked
        ]

    def next_kind(self) -> str:
        """The kind of fact to state next."""
        return self._pick(QUESTION_TYPES, QUESTION_TYPES, None)

    def next_question(self) -> tuple[str, str] | None:
        """(kind, thing) to ask for: by habit the first that waits; None if nothing waits."""
        askable = self.askable()
        if not askable:
            return None
        is_habit = self.habit > 0.0 and self.rng.random() < self.habit
        return askable[0] if is_habit else self.rng.choice(askable)

    def _pick(self, order: tuple[T, ...], values: tuple[T, ...], unwanted: T | None) -> T:
        """One of the values: by habit the one next in the order to the last one said, else any."""
        last = self.last.get(order)
        if last in order and self.habit > 0.0 and self.rng.random() < self.habit:
            start = order.index(last) + 1
            turn = (*order[start:], *order[:start])
            return next(value for value in turn if value in values and value != unwanted)
        value = self.rng.choice(values)
        while value == unwanted:
            value = self.rng.choice(values)
        return value

    def _say(
        self, template: tuple[str, ...], values: Mapping[str, str], answer_slot: str | None
    ) -> int:
        at = len(self.words)
        if answer_slot is not None:
            at += template.index(answer_slot)
        self.words.extend(values.get(word, word) for word in template)
        return at


def tell_story(seed: int | str, n_things: int, max_words: int, habit: float = 0.0) -> Story:
    """Tell a story about up to `n_things` things in at most `max_words` words.

    The same arguments always give the same story. `n_things` is 1 to 12, `max_words` at least 20.
    `habit` is the share of choices that take the next one of a list (of things, people, places,
    kinds of sentences) after the last one said, which gives a story that is always told greedily
    something to go on with; 0: nothing can be guessed from what was said before but the answers.
    """
    rng = random.Random(seed)
    cast = tuple(rng.sample(PEOPLE, min(len(PEOPLE), max(3, n_things + 2))))
    teller = Teller(rng, cast, habit)
    waiting = _things_in_turn(rng, n_things, habit)
    while len(teller.words) + LONGEST_SENTENCE + len(CLOSING) <= max_words:
        _next_sentence(teller, waiting)
    return teller.close()


def _things_in_turn(rng: random.Random, n_things: int, habit: float) -> list[str]:
    """Different things; the last is the first to be told of."""
    things = rng.sample(THINGS, n_things)
    for place in range(n_things - 1, 0, -1):
        follower = THINGS[(THINGS.index(things[place]) + 1) % len(THINGS)]
        if habit > 0.0 and follower not in things[place:] and rng.random() < habit:
            if follower in things:
                things[things.index(follower)] = things[place - 1]
            things[place - 1] = follower
    return things


def _next_sentence(teller: Teller, waiting: list[str]) -> None:
    draw = teller.rng.random()
    if (waiting and draw < 0.55) or not teller.facts:
        if not teller.facts and draw > 0.9:
            teller.fill()
            return
        teller.state(teller.next_kind(), waiting.pop())
        return
    draw = teller.rng.random()
    if draw < 0.65 and (question := teller.next_question()):
        teller.ask(*question)
    elif draw < 0.9:
        teller.state(teller.next_kind(), teller.rng.choice(tuple(teller.facts)))
    else:
        teller.fill()


def question_case(seed: int | str, kind: str, n_things: int, distance: int) -> Story:
    """A story that ends in one question of a kind, its answer and a full stop.

    `n_things` things are mentioned, the one asked about at a random place among them; its fact was
    stated at least `distance` words before the answer, and at most one sentence more where the
    other things leave room.
    """
    rng = random.Random(seed)
    cast = tuple(rng.sample(PEOPLE, min(len(PEOPLE), max(3, n_things + 2))))
    teller = Teller(rng, cast, habit=0.0)
    asked, *others = rng.sample(THINGS, n_things)
    n_before = rng.randint(0, n_things - 1)
    for thing in others[:n_before]:
        teller.state(rng.choice(QUESTION_TYPES), thing)
    teller.state(kind, asked)
    for thing in others[n_before:]:
        teller.state(rng.choice(QUESTION_TYPES), thing)
    to_answer = QUESTIONS[kind].index(ANSWER_SLOT[kind])
    while len(teller.words) + to_answer - teller.facts[asked][kind].stated_at < distance:
        askable = [(k, thing) for k, thing in teller.askable() if thing != asked]
        if askable and rng.random() < 0.7:
            teller.ask(*rng.choice(askable))
        else:
            teller.fill()
    teller.ask(kind, asked)
    return Story(tuple(teller.words), (teller.questions[-1],))
