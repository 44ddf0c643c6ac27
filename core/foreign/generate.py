"""A checkpoint folder read by transformers, decoding greedily under a recorder."""

import importlib
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from safetensors import SafetensorError

from core.errors import ModelError, SpecError
from core.foreign.recorder import Recording, kvscope_recorder

_FAILURES = (
    ImportError,
    IndexError,
    KeyError,
    OSError,
    RuntimeError,
    SafetensorError,
    TypeError,
    ValueError,
)
"""What transformers raises where a folder cannot be used; it has no class of its own."""


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
        with _told(self.folder, "has no tokenizer that can be read; give --prompt-ids"):
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

        def told(*_: object) -> None:
            at()

        after = self.model.register_forward_hook(told)
        try:
            with (
                _told(self.folder, "cannot decode"),
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
    if not folder.is_dir():
        raise ModelError(f"{folder}: there is no such folder; give that of a checkpoint")
    if not (folder / "config.json").is_file():
        raise ModelError(f"{folder}: has no config.json; give the folder of a checkpoint")
    try:
        library = importlib.import_module("transformers")
    except ImportError as error:
        raise ModelError(
            "recording needs transformers, which is not installed: pip install transformers"
        ) from error
    with _told(folder, "cannot be read by transformers"), quiet(library):
        model, info = library.AutoModelForCausalLM.from_pretrained(
            folder,
            local_files_only=True,
            dtype="auto",
            trust_remote_code=False,
            output_loading_info=True,
        )
    missing = sorted(info["missing_keys"])
    if missing:
        raise ModelError(
            f"{folder}: its files lack {len(missing)} tensors of the model that config.json "
            f"describes, such as {missing[0]}; transformers would make up random ones"
        )
    return Checkpoint(folder, library, model.eval())


@contextmanager
def quiet(library: ModuleType) -> Generator[None, None, None]:
    """transformers says nothing of its own meanwhile."""
    logging = library.utils.logging
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        logging.enable_progress_bar()


@contextmanager
def _told(folder: Path, what: str) -> Generator[None, None, None]:
    """Turn what the library says of a folder into one line."""
    try:
        yield
    except _FAILURES as error:
        words = " ".join(str(error).split())
        raise ModelError(f"{folder}: {what} ({words:.200})") from error
