"""A checkpoint folder read by transformers, decoding greedily under a recorder."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from core.errors import SpecError
from core.foreign.recorder import Recording, kvscope_recorder
from core.model.by_transformers import load_by_transformers, quiet, told


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """A folder that transformers has read.

    Attributes:
        folder: where.
        library: transformers.
        model: its causal language model, on the CPU, in the number type of its file.
    """

    folder: Path
    library: ModuleType
    model: Any

    def encode(self, text: str) -> list[int]:
        """The token ids of a text.

        Raises:
            ModelError: the folder has no tokenizer.
        """
        with told(self.folder, "has no tokenizer that can be read; give --prompt-ids"):
            tokenizer = self.library.AutoTokenizer.from_pretrained(
                self.folder, local_files_only=True
            )
            return [int(token) for token in tokenizer(text)["input_ids"]]

    def record(self, prompt_ids: Sequence[int], steps: int, at: Callable[[], None]) -> Recording:
        """Read a prompt, then decode `steps` tokens greedily; fewer where the text ends.

        Args:
            prompt_ids: the prompt.
            steps: tokens to decode after it.
            at: told after each call.

        Raises:
            ModelError: the model cannot read that.
        """
        import torch

        self._check(prompt_ids, steps)
        ids = torch.tensor([list(prompt_ids)])

        def count(*_: object) -> None:
            at()

        after = self.model.register_forward_hook(count)
        try:
            with (
                told(self.folder, "cannot decode"),
                quiet(self.library),
                kvscope_recorder(self.model) as recording,
            ):
                self.model.generate(ids, max_new_tokens=steps + 1, do_sample=False, num_beams=1)
        finally:
            after.remove()
        return recording

    def _check(self, prompt_ids: Sequence[int], steps: int) -> None:
        vocabulary = int(self.model.get_input_embeddings().num_embeddings)
        outside = [token for token in prompt_ids if token >= vocabulary]
        if outside:
            raise SpecError(
                f"--prompt-ids has token {outside[0]}; {self.folder} knows 0 to {vocabulary - 1}"
            )
        limit = getattr(self.model.config, "max_position_embeddings", None)
        if isinstance(limit, int) and len(prompt_ids) + steps > limit:
            raise SpecError(
                f"a prompt of {len(prompt_ids)} tokens and --steps {steps} need "
                f"{len(prompt_ids) + steps} positions, {self.folder} has {limit}; choose fewer "
                "--steps or a shorter prompt"
            )


def load_checkpoint(folder: Path) -> Checkpoint:
    """Read a folder; nothing in it is ever run.

    Raises:
        ModelError: there is no such folder, transformers is not there, or cannot read it.
    """
    return Checkpoint(folder, *load_by_transformers(folder))
