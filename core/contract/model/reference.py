"""The model without a cache against a checkpoint folder: what both of its ways share shows here."""

import importlib.util
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core.arrays import FloatArray
from core.contract.model.finding import Finding, boxed
from core.contract.model.verdict import Bands
from core.errors import ModelError
from core.model.checkpoint_folder import checkpoint_folder

if TYPE_CHECKING:
    from core.contract.model.check import Report


def reference_logits(folder: Path, ids: Sequence[int]) -> tuple[FloatArray, str]:
    """[N, V] logits of a text by the checkpoint, and who computed them.

    By kvscope's own reference in float64 where it knows the architecture, else by transformers,
    where that is installed.

    Raises:
        ModelError: neither can read the folder.
    """
    checkpoint_folder(folder)
    try:
        return _by_reference(folder, ids), "kvscope's reference"
    except ModelError:
        if importlib.util.find_spec("transformers") is None:
            raise
        return _by_transformers(folder, ids), "transformers"


def compared(report: "Report", folder: Path) -> "Report":
    """A report that has the uncached logits, with what the checkpoint says of them.

    Raises:
        ModelError: the folder cannot be read, or is of another model.
    """
    right, who = reference_logits(folder, report.ids)
    assert report.uncached.logits is not None  # noqa: S101  (they were asked for)
    found = reference_finding(report.uncached.logits[0], right, report.bands, who)
    note = f"without a cache the model equals {folder} (by {who})"
    if found is None:
        return replace(report, notes=(*report.notes, note))
    return replace(report, findings=(found, *report.findings))


def _by_reference(folder: Path, ids: Sequence[int]) -> FloatArray:
    from core.model.loading import load_folder  # here: torch takes its time
    from core.reference import Passage, Reference

    loaded = load_folder(folder)
    n = len(ids)
    order = np.arange(n, dtype=np.int64)
    reference = Reference(loaded.config, loaded.weights.arrays())
    readable = np.tri(n, dtype=np.bool_)
    passage = Passage(np.array(ids, dtype=np.int64), order, None, readable)
    return reference.forward(passage).logits


def _by_transformers(folder: Path, ids: Sequence[int]) -> FloatArray:
    import torch

    from core.model.by_transformers import load_by_transformers, told

    _, model = load_by_transformers(folder)
    with told(folder, "cannot compute these tokens"), torch.no_grad():
        logits: Any = model.double()(torch.tensor([list(ids)])).logits[0]
    return np.asarray(logits.numpy(), dtype=np.float64)


def reference_finding(
    mine: FloatArray, right: FloatArray, bands: Bands, who: str
) -> Finding | None:
    """The first token whose uncached logits [N, V] are wrong; None: all agree.

    Raises:
        ModelError: the two know different vocabularies.
    """
    if mine.shape != right.shape:
        raise ModelError(
            f"the checkpoint has {right.shape[1]} logits a token, the model {mine.shape[1]}; "
            "give the folder that the model's weights come from"
        )
    errors = np.abs(mine - right).max(axis=1)
    wrong = np.flatnonzero(~(errors <= bands.wrong))
    if not len(wrong):
        return None
    token = int(wrong[0])
    words = (
        f"uncached logits of token {token} are off from {who} by {errors[token]:.3g}, wrong above "
        f"{bands.wrong:.2g}; {len(wrong)} of {len(errors)} tokens are wrong"
    )
    hint = (
        "token 0, which sees itself alone, is right: the fault is in positions, masks or the order "
        "of key heads"
        if token > 0
        else "token 0, which sees itself alone, is wrong: weights, numbers or layout differ"
    )
    return boxed("the model differs from its checkpoint without a cache", 0, words, hint)
