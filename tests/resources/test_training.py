"""A few steps of training on a tiny setting."""

import json
import random
from dataclasses import replace

import pytest
import torch

from core.model.loading import load_folder
from core.model.uncached import uncached_logits
from resources.training.export import export
from resources.training.lessons import IGNORED, make_batch, recalled_words, repeated_words
from resources.training.network import forward
from resources.training.tokenizer import WordIds, build_tokenizer
from resources.training.train import (
    CHECKPOINT_FILE,
    Hit,
    Trainer,
    TrainingPlan,
    rate_at,
    train,
)

TINY = TrainingPlan(steps=4, n_tokens=128, warmup=1, n_layers=1, n_heads=2, d_model=16)


def _tensors(trainer):
    return {name: tensor.detach().clone() for name, tensor in trainer.parameters.items()}


def test_training_lowers_the_loss():
    trainer = Trainer(replace(TINY, steps=60, learning_rate=1e-2))
    losses = [trainer.take_step() for _ in range(60)]
    assert sum(losses[-10:]) < sum(losses[:10]) - 10.0


def test_training_prints_its_figures_and_leaves_a_checkpoint(tmp_path, capsys):
    train(Trainer(TINY), tmp_path)
    assert json.loads(capsys.readouterr().out)["step"] == 4
    assert (tmp_path / CHECKPOINT_FILE).is_file()


def test_a_training_that_was_stopped_goes_on_as_if_it_had_not(tmp_path):
    whole = Trainer(TINY)
    for _ in range(4):
        whole.take_step()
    first = Trainer(TINY)
    for _ in range(2):
        first.take_step()
    first.save(tmp_path)
    second = Trainer(TINY)
    second.restore(tmp_path)
    for _ in range(2):
        second.take_step()
    for name, tensor in _tensors(whole).items():
        torch.testing.assert_close(_tensors(second)[name], tensor, rtol=0, atol=0)


def test_an_exported_checkpoint_has_the_logits_of_the_model_in_training(tmp_path):
    trainer = Trainer(TINY)
    train(trainer, tmp_path)
    export(tmp_path / CHECKPOINT_FILE, tmp_path / "model")
    model = load_folder(tmp_path / "model")
    token_ids = torch.tensor([model.tokenizer.encode("The kite is outside.")])
    expected = forward(trainer.parameters, trainer.config, token_ids)
    torch.testing.assert_close(uncached_logits(model.weights, token_ids), expected.detach())


def test_the_things_in_a_story_grow_by_one_when_every_type_is_right_enough():
    trainer = Trainer(TINY)
    for n_right, n_things in ((94, 2), (95, 3)):
        trainer.recent.clear()
        for kind in ("where", "who", "colour"):
            trainer.recent.extend(Hit(kind, 2, place < n_right) for place in range(100))
        trainer.promote()
        assert trainer.progress.n_things == n_things


def test_the_things_in_a_story_stay_while_one_type_lags_behind():
    trainer = Trainer(TINY)
    for kind, is_right in (("where", True), ("who", False), ("colour", True)):
        trainer.recent.extend(Hit(kind, 2, is_right) for _ in range(200))
    trainer.promote()
    assert trainer.progress.n_things == 2


@pytest.mark.parametrize(
    ("step", "share"), [(0, 0.01), (99, 1.0), (600, 1.0), (800, 0.51), (1000, 0.02)]
)
def test_the_rate_rises_stays_and_falls(step, share):
    plan = TrainingPlan(steps=1000)
    assert rate_at(plan, step) == pytest.approx(share * plan.learning_rate)


def test_targets_are_the_inputs_one_token_on():
    batch = make_batch("x", 2000, 4, 0.3, WordIds(build_tokenizer()))
    inside = batch.targets[:, :-1] != IGNORED
    followed = batch.inputs[:, 1:][inside & (batch.inputs[:, 1:] != 0)]
    wanted = batch.targets[:, :-1][inside & (batch.inputs[:, 1:] != 0)]
    assert torch.equal(followed, wanted)


def test_answers_of_a_batch_stand_where_the_questions_say():
    word_ids = WordIds(build_tokenizer())
    n_questions = 0
    for number in range(20):
        batch = make_batch(f"y{number}", 2000, 4, 0.2, word_ids)
        for row, questions in enumerate(batch.questions):
            for question in questions:
                answer = int(batch.targets[row, question.answer_at - 1])
                assert answer == word_ids.inner[question.answer]
                n_questions += 1
    assert n_questions > 500


def test_a_repeated_line_is_said_twice_before_the_next_one():
    words = repeated_words(random.Random(0), 400)
    n_line = next(n for n in range(5, 27) if words[:n] == words[n : 2 * n])
    assert words[n_line - 1] == "."
    assert len(words) == 400


def test_a_recalled_word_is_followed_by_the_word_that_stood_three_before_it():
    words = recalled_words(random.Random(0), 80)
    line, pairs = words[:40], words[41:]
    assert len(set(line)) == 40
    assert words[40] == "."
    for word, recalled in zip(pairs[::2], pairs[1::2], strict=False):
        assert recalled == line[line.index(word) - 3]
