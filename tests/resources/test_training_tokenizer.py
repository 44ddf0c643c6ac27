"""The tokenizer: one token for a word of the world, bytes for all else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources import resource_path
from resources.training.grammar import PUNCTUATION, world_words
from resources.training.tokenizer import END_OF_TEXT, WordIds, build_tokenizer
from resources.training.world import tell_story

TOKENIZER = build_tokenizer()


@pytest.mark.parametrize("word", [*world_words(), *PUNCTUATION])
def test_a_word_of_the_world_is_one_token(word):
    assert len(TOKENIZER.encode(word).ids) == 1


@pytest.mark.parametrize("word", world_words())
def test_a_word_with_its_space_is_one_token_and_another_one(word):
    assert len(TOKENIZER.encode(f" {word}").ids) == 1
    assert TOKENIZER.encode(f" {word}").ids != TOKENIZER.encode(word).ids


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_any_text_comes_back_unchanged(text):
    token_ids = TOKENIZER.encode(text).ids
    assert TOKENIZER.decode(token_ids, skip_special_tokens=False) == text


def test_story_words_have_the_ids_of_the_story_text():
    word_ids = WordIds(TOKENIZER)
    for seed in range(50):
        story = tell_story(seed, 6, 120)
        assert word_ids.encode(story.words) == TOKENIZER.encode(story.text).ids


def test_the_beginning_of_a_question_is_seven_tokens():
    assert len(TOKENIZER.encode("The kite is outside. Where is").ids) == 7
    assert len(TOKENIZER.encode(" the kite?").ids) == 3


def test_the_end_of_text_token_is_one_token():
    assert TOKENIZER.encode(END_OF_TEXT).ids == [TOKENIZER.token_to_id(END_OF_TEXT)]


def test_the_shipped_tokenizer_is_the_one_that_is_built():
    shipped = resource_path("models", "learned", "tokenizer.json").read_text(encoding="utf-8")
    assert shipped == TOKENIZER.to_str(pretty=True)
