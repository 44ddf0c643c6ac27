"""The sentences of a small world: its words, its templates, and which sentences are good.

All text that there is comes from the templates below. Most statements name the thing first and the
answer after it, which is learnt much sooner than the other order.
"""

from collections.abc import Mapping

PEOPLE: tuple[str, ...] = tuple(
    "Ida Tom Ada Ben Eva Max Mia Leo Nora Sam Lily Hugo Anna Finn Ruth Karl".split()
)
THINGS: tuple[str, ...] = tuple(
    "kite lamp ball book cup box hat drum key rope bell coin doll boat flag spoon clock chair "
    "basket ladder bottle mirror pencil blanket".split()
)
COLOURS: tuple[str, ...] = tuple("red blue green yellow black white brown pink grey purple".split())
PLACES: tuple[str, ...] = tuple(
    "outside inside upstairs downstairs nearby underground overhead aboard ashore backstage".split()
)
CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "<person>": PEOPLE,
    "<other>": PEOPLE,
    "<thing>": THINGS,
    "<colour>": COLOURS,
    "<place>": PLACES,
}
ANSWER_SLOT: Mapping[str, str] = {"where": "<place>", "who": "<person>", "colour": "<colour>"}
QUESTION_TYPES = tuple(ANSWER_SLOT)


def _templates(*lines: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(line.split()) for line in lines)


FIRST_PLACE = _templates(
    "The <thing> is <place> .",
    "<person> put the <thing> <place> .",
    "<person> left the <thing> <place> .",
)
NEXT_PLACE = _templates(
    "<person> moved the <thing> <place> .", "<person> carried the <thing> <place> ."
)
PUT_DOWN = _templates("<person> put the <thing> <place> .", "<person> left the <thing> <place> .")
FIRST_HOLDER = _templates(
    "The <thing> is with <person> .",
    "<other> gave the <thing> to <person> .",
    "<person> has the <thing> .",
)
TAKEN = _templates("The <thing> was taken by <person> .", "<person> took the <thing> .")
GIVEN = _templates(
    "<other> gave the <thing> to <person> .", "<other> handed the <thing> to <person> ."
)
FIRST_COLOUR = _templates("The <thing> is <colour> .", "<other> painted the <thing> <colour> .")
NEXT_COLOUR = _templates("<other> painted the <thing> <colour> .")
QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "where": tuple("Where is the <thing> ? <place> .".split()),
    "who": tuple("Who has the <thing> ? <person> .".split()),
    "colour": tuple("What colour is the <thing> ? <colour> .".split()),
}
FILLERS = _templates(
    "<person> laughed .",
    "<person> sang .",
    "<person> was happy .",
    "<person> and <other> danced .",
    "It rained .",
    "The sun was warm .",
    "It was a quiet day .",
)
CLOSING: tuple[str, ...] = tuple("Then everyone went home .".split())
TEMPLATES = tuple(
    dict.fromkeys(
        FIRST_PLACE
        + NEXT_PLACE
        + PUT_DOWN
        + FIRST_HOLDER
        + TAKEN
        + GIVEN
        + FIRST_COLOUR
        + NEXT_COLOUR
        + tuple(QUESTIONS.values())
        + FILLERS
        + (CLOSING,)
    )
)
PUNCTUATION = (".", "?")
LONGEST_SENTENCE = max(len(template) for template in TEMPLATES)


def world_words() -> tuple[str, ...]:
    """Return every word that a story can hold, once each, without punctuation, in a fixed order."""
    plain = (word for template in TEMPLATES for word in template if not word.startswith("<"))
    named = (word for words in CATEGORIES.values() for word in words)
    return tuple(word for word in dict.fromkeys((*plain, *named)) if word not in PUNCTUATION)


def is_grammatical(sentence: tuple[str, ...]) -> bool:
    """Whether the words, full stop included, are a sentence, or a question and its answer."""
    return any(_matches(template, sentence) for template in TEMPLATES)


def _matches(template: tuple[str, ...], sentence: tuple[str, ...]) -> bool:
    return len(template) == len(sentence) and all(
        word in CATEGORIES.get(slot, (slot,)) for slot, word in zip(template, sentence, strict=True)
    )


def split_sentences(words: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Cut words after every full stop; a last piece without one is kept as it is."""
    sentences: list[tuple[str, ...]] = []
    start = 0
    for end, word in enumerate(words, start=1):
        if word == "." or end == len(words):
            sentences.append(words[start:end])
            start = end
    return tuple(sentences)


def as_text(words: tuple[str, ...]) -> str:
    """Join words as people write them: no space before a full stop or question mark."""
    return "".join(
        word if place == 0 or word in PUNCTUATION else f" {word}"
        for place, word in enumerate(words)
    )
