"""Logits of a checkpoint folder: by kvscope's reference, else by transformers, never made up."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from core.contract.model.reference import reference_logits
from core.errors import ModelError
from resources import resource_path

IDS = (3, 1, 4, 1, 5)


def of_transformers(folder: Path) -> np.ndarray:
    model = GPT2LMHeadModel.from_pretrained(folder).eval().double()
    with torch.no_grad():
        return model(torch.tensor([IDS])).logits[0].numpy()


def test_a_known_architecture_is_computed_by_the_reference() -> None:
    folder = Path(resource_path("models", "learned"))
    logits, who = reference_logits(folder, IDS)
    assert who == "kvscope's reference"
    np.testing.assert_allclose(logits, of_transformers(folder), rtol=0, atol=1e-9)


def test_another_architecture_is_computed_by_transformers(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=11, n_positions=16, n_embd=8, n_layer=1, n_head=2, activation_function="silu"
    )
    GPT2LMHeadModel(config).save_pretrained(tmp_path)
    logits, who = reference_logits(tmp_path, IDS)
    assert who == "transformers"
    np.testing.assert_allclose(logits, of_transformers(tmp_path), rtol=0, atol=1e-9)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copied = tmp_path / "copied"
    shutil.copytree(resource_path("models", "learned"), copied)
    return copied


def test_weights_that_are_missing_are_not_made_up(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "n_layer": 5}), "utf-8")
    with pytest.raises(ModelError, match="its files lack 12 tensors"):
        reference_logits(folder, IDS)


def test_a_file_of_weights_that_was_cut_short_is_told_in_one_line(folder: Path) -> None:
    with (folder / "model.safetensors").open("rb+") as file:
        file.truncate(100_000)
    with pytest.raises(ModelError, match="cannot be read by transformers") as told:
        reference_logits(folder, IDS)
    assert "\n" not in str(told.value)
