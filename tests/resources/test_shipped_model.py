"""The model that ships: it answers, it tells stories, and other libraries load the same numbers."""

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from core.model.loading import load_model
from core.model.uncached import uncached_logits
from resources import resource_path
from resources.training.evaluate import answers_of, tell
from resources.training.grammar import QUESTION_TYPES
from resources.training.world import question_case, tell_story

FOLDER = resource_path("models", "learned")


@pytest.fixture(scope="module")
def model():
    return load_model("learned")


def _share_right(model, stories):
    answers = answers_of(model, stories)
    return sum(answer.is_right for answer in answers) / len(answers)


@pytest.mark.parametrize("kind", QUESTION_TYPES)
@pytest.mark.parametrize("n_things", [1, 2])
def test_simple_questions_are_answered(model, kind, n_things):
    cases = [question_case(f"simple/{seed}", kind, n_things, 5) for seed in range(100)]
    assert _share_right(model, cases) >= 0.99


def test_questions_of_long_stories_are_answered(model):
    stories = [tell_story(f"long/{seed}", 12, 240) for seed in range(24)]
    assert _share_right(model, stories) >= 0.98


def test_the_answer_follows_the_question_mark_at_once(model):
    token_ids = model.tokenizer.encode("The kite is outside. Where is the kite?")
    logits = uncached_logits(model.weights, torch.tensor([token_ids]))[0, -1]
    assert model.tokenizer.decode([int(logits.argmax())]) == " outside"


def test_freely_told_sentences_are_grammatical(model):
    telling = tell(model, 8, 0.8, seed=3)
    assert telling.n_sentences > 60
    assert telling.wrong == ()


def test_a_story_told_greedily_goes_on_and_ends(model):
    telling = tell(model, 4, 0.0, seed=3)
    assert telling.n_repeated <= telling.n_sentences // 5
    assert telling.n_ended == 4


def test_transformers_loads_the_same_logits(model):
    peer = AutoModelForCausalLM.from_pretrained(FOLDER, dtype=torch.float32)
    story = tell_story("peer", 8, 200)
    token_ids = torch.tensor([model.tokenizer.encode(story.text + " ¿Größe? 🎈")])
    with torch.inference_mode():
        expected = peer(token_ids).logits
    actual = uncached_logits(model.weights, token_ids)
    assert float((actual - expected).abs().max()) <= 1e-4


@pytest.mark.parametrize("text", ["The kite is outside. Where is", " spaced", "naïve 🎈\n\tend"])
def test_transformers_loads_the_same_tokenizer(model, text):
    peer = AutoTokenizer.from_pretrained(FOLDER)
    token_ids = model.tokenizer.encode(text)
    assert tuple(peer(text)["input_ids"]) == token_ids
    assert peer.decode(token_ids) == text
    assert peer.eos_token_id == model.config.eos_token_id == model.tokenizer.eos_token_id
