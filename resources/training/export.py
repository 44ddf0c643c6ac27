"""Write a training checkpoint as a model folder that GPT-2 loaders read.

python -m resources.training.export CHECKPOINT [FOLDER]
"""

import argparse
from pathlib import Path

import torch

from core.model.config import ModelConfig
from core.model.loading import save_model
from core.model.weights import weights_from_tensors
from resources import resource_path
from resources.training.network import tied
from resources.training.tokenizer import build_tokenizer


def export(checkpoint: Path, folder: Path) -> None:
    """Write config.json, model.safetensors and the tokenizer of a checkpoint into the folder."""
    saved = torch.load(checkpoint, weights_only=True)
    config = ModelConfig(**saved["config"])
    weights = weights_from_tensors(config, tied(saved["parameters"]))
    save_model(folder, weights, build_tokenizer().to_str(pretty=True))


def main() -> None:
    """Read the command line and write the folder."""
    parser = argparse.ArgumentParser(description="Write a training checkpoint as a model folder.")
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("folder", type=Path, nargs="?", default=resource_path("models", "learned"))
    arguments = parser.parse_args()
    export(arguments.checkpoint, arguments.folder)


if __name__ == "__main__":
    main()
