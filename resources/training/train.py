"""Train the model `learned` on stories of the small world.

    python -m resources.training.train --out FOLDER [--steps N] [--seed N] [--resume]

One core is enough. The number of things in a story starts at 2 and grows by one whenever 95 % of
the questions of every type are answered right at the present number. The folder gets a checkpoint
every 250 steps; `resources.training.export` makes a model folder of it.
"""

import argparse
import collections
import dataclasses
import json
import math
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from core.model.config import ModelConfig
from resources.training.grammar import QUESTION_TYPES
from resources.training.lessons import IGNORED, Batch, make_batch
from resources.training.network import Parameters, first_parameters, forward
from resources.training.tokenizer import WordIds, build_tokenizer
from resources.training.world import MAX_THINGS, Question

CHECKPOINT_FILE = "checkpoint.pt"
NAMED_FIRST = "named first"
STEPS_PER_LINE = 50
STEPS_PER_CHECKPOINT = 250
N_JUDGED = 300
N_NEEDED = 100


@dataclasses.dataclass(frozen=True, slots=True)
class TrainingPlan:
    """How long and how hard to train, and the size of the model."""

    steps: int = 7200
    n_tokens: int = 4096
    learning_rate: float = 1.5e-3
    warmup: int = 100
    answer_weight: float = 4.0
    promote_at: float = 0.95
    seed: int = 0
    n_layers: int = 4
    n_heads: int = 4
    d_model: int = 128


@dataclasses.dataclass(slots=True)
class Progress:
    """Steps taken, and how many things a story may have by now."""

    step: int = 0
    n_things: int = 2
    promoted_at: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Hit:
    """A question of the training stories, answered before it was learnt from."""

    kind: str
    n_things: int
    is_right: bool


def model_config(plan: TrainingPlan, vocab_size: int, eos_token_id: int) -> ModelConfig:
    """The GPT-2-type model of a plan."""
    return ModelConfig(
        name="learned",
        scheme="learned",
        n_layers=plan.n_layers,
        n_heads=plan.n_heads,
        n_kv_heads=plan.n_heads,
        d_head=plan.d_model // plan.n_heads,
        d_model=plan.d_model,
        d_mlp=4 * plan.d_model,
        vocab_size=vocab_size,
        n_ctx=256,
        norm="layer",
        norm_eps=1e-5,
        activation="gelu_tanh",
        rope_theta=10_000.0,
        eos_token_id=eos_token_id,
    )


def rate_at(plan: TrainingPlan, step: int) -> float:
    """Learning rate: a linear start, then flat, then half a cosine to 2 % over the last 40 %."""
    if step < plan.warmup:
        return plan.learning_rate * (step + 1) / plan.warmup
    share = min(1.0, max(0.0, (step / plan.steps - 0.6) / 0.4))
    return plan.learning_rate * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * share)))


def random_share(progress: Progress) -> float:
    """Share of rows of random words to remember: many at first, none once all things are in."""
    if progress.n_things == 2 and progress.step < 1500:
        return 0.5
    return 0.2 if progress.n_things < MAX_THINGS else 0.0


def loss_and_hits(logits: Tensor, batch: Batch, answer_weight: float) -> tuple[Tensor, list[Hit]]:
    """Mean loss in nats, answers counting `answer_weight` times, and how each question went."""
    weights = torch.ones(batch.targets.shape)
    guesses = logits.detach().argmax(-1)
    hits: list[Hit] = []
    for row, questions in enumerate(batch.questions):
        for question in questions:
            at = question.answer_at - 1
            weights[row, at] = answer_weight
            is_right = bool(guesses[row, at] == batch.targets[row, at])
            hits.append(Hit(_kind(question), question.n_things, is_right))
    targets = batch.targets.flatten()
    losses = F.cross_entropy(logits.flatten(0, 1), targets, ignore_index=IGNORED, reduction="none")
    weights = weights.flatten() * (targets != IGNORED)
    return (losses * weights).sum() / weights.sum(), hits


def _kind(question: Question) -> str:
    return NAMED_FIRST if question.is_answer_first else question.kind


class Trainer:
    """A model in training; all it needs to go on after a stop is in its checkpoint."""

    def __init__(self, plan: TrainingPlan) -> None:
        """Start from random parameters."""
        tokenizer = build_tokenizer()
        self.plan = plan
        self.word_ids = WordIds(tokenizer)
        self.config = model_config(plan, tokenizer.get_vocab_size(), self.word_ids.end_of_text)
        self.parameters: Parameters = first_parameters(self.config, plan.seed)
        self.progress = Progress()
        self.recent: collections.deque[Hit] = collections.deque(maxlen=4000)
        self.optimiser = torch.optim.AdamW(
            [
                {"params": self._of_rank(2), "weight_decay": 0.01},
                {"params": self._of_rank(1), "weight_decay": 0.0},
            ],
            lr=plan.learning_rate,
            betas=(0.9, 0.98),
        )

    def _of_rank(self, rank: int) -> list[Tensor]:
        return [tensor for tensor in self.parameters.values() if tensor.ndim == rank]

    def take_step(self) -> float:
        """Learn from one batch and return its loss."""
        batch = make_batch(
            f"train/{self.plan.seed}/{self.progress.step}",
            self.plan.n_tokens,
            self.progress.n_things,
            random_share(self.progress),
            self.word_ids,
        )
        for group in self.optimiser.param_groups:
            group["lr"] = rate_at(self.plan, self.progress.step)
        logits = forward(self.parameters, self.config, batch.inputs)
        loss, hits = loss_and_hits(logits, batch, self.plan.answer_weight)
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(self.parameters.values()), 1.0)
        self.optimiser.step()
        self.progress.step += 1
        self.recent.extend(hits)
        return loss.item()

    def right_shares(self) -> dict[str, float | None]:
        """Share of right answers by type among the latest hard questions; None: too few of them."""
        least = self.progress.n_things - 1
        shares: dict[str, float | None] = {}
        for kind in (*QUESTION_TYPES, NAMED_FIRST):
            hits = [hit for hit in self.recent if hit.kind == kind and hit.n_things >= least]
            latest = [hit.is_right for hit in hits[-N_JUDGED:]]
            shares[kind] = sum(latest) / len(latest) if len(latest) >= N_NEEDED else None
        return shares

    def promote(self) -> None:
        """Allow one thing more if every type with the answer after the thing is right enough."""
        shares = self.right_shares()
        is_ready = all((shares[kind] or 0.0) >= self.plan.promote_at for kind in QUESTION_TYPES)
        if is_ready and self.progress.n_things < MAX_THINGS:
            self.progress.n_things += 1
            self.progress.promoted_at = self.progress.step
            self.recent.clear()

    def save(self, folder: Path) -> None:
        """Replace the folder's checkpoint at once."""
        saved = {
            "parameters": {name: tensor.detach() for name, tensor in self.parameters.items()},
            "optimiser": self.optimiser.state_dict(),
            "progress": dataclasses.asdict(self.progress),
            "plan": dataclasses.asdict(self.plan),
            "config": dataclasses.asdict(self.config),
        }
        part = folder / f"{CHECKPOINT_FILE}.part"
        torch.save(saved, part)
        part.replace(folder / CHECKPOINT_FILE)

    def restore(self, folder: Path) -> None:
        """Go on from the folder's checkpoint."""
        saved = torch.load(folder / CHECKPOINT_FILE, weights_only=True)
        for name, tensor in saved["parameters"].items():
            self.parameters[name].data.copy_(tensor)
        self.optimiser.load_state_dict(saved["optimiser"])
        self.progress = Progress(**saved["progress"])


def train(trainer: Trainer, folder: Path) -> None:
    """Train to the end of the plan, with a line of figures and a checkpoint now and then."""
    folder.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    losses: list[float] = []
    while trainer.progress.step < trainer.plan.steps:
        losses.append(trainer.take_step())
        is_last = trainer.progress.step == trainer.plan.steps
        if trainer.progress.step % STEPS_PER_LINE == 0 or is_last:
            print(_line(trainer, losses, time.monotonic() - started), flush=True)
            losses.clear()
            trainer.promote()
        if trainer.progress.step % STEPS_PER_CHECKPOINT == 0 or is_last:
            trainer.save(folder)


def _line(trainer: Trainer, losses: list[float], seconds: float) -> str:
    figures: dict[str, float | int | None] = {
        "step": trainer.progress.step,
        "s": round(seconds),
        "loss": round(sum(losses) / len(losses), 4),
        "n_things": trainer.progress.n_things,
    }
    for kind, share in trainer.right_shares().items():
        figures[kind] = None if share is None else round(share, 3)
    return json.dumps(figures)


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description="Train the model `learned`.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in OUT")
    for entry in dataclasses.fields(TrainingPlan):
        option = f"--{entry.name.replace('_', '-')}"
        parser.add_argument(option, type=type(entry.default), default=entry.default)
    arguments = vars(parser.parse_args())
    folder, is_resumed = arguments.pop("out"), arguments.pop("resume")
    torch.set_num_threads(1)
    trainer = Trainer(TrainingPlan(**arguments))
    if is_resumed:
        trainer.restore(folder)
    train(trainer, folder)


if __name__ == "__main__":
    main()
