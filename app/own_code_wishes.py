"""What a person said of their code, as the checker takes it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.constructor_arguments import constructor_arguments
from core.contract.names_in_file import Kind
from core.errors import CoreError


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a person said of their code.

    Attributes:
        arguments: for the constructor, as typed.
        declared: what the class promises.
        adapter: a file with an adapter; None: the code is recognised.
        vocab: token ids that a model knows; None: as it says.
        prompt: token ids that it reads first, as typed; empty: some at random.
        reference: folder of the checkpoint that it is to equal; None: there is none.
    """

    arguments: str = ""
    declared: tuple[str, ...] = ()
    adapter: Path | None = None
    vocab: int | None = None
    prompt: str = ""
    reference: Path | None = None

    def values(self) -> dict[str, Any]:
        """The arguments as values.

        Raises:
            CoreError: they are no list of names and plain values.
        """
        return constructor_arguments(self.arguments)

    def prompt_ids(self) -> tuple[int, ...]:
        """The prompt as numbers.

        Raises:
            CoreError: it is no list of token ids.
        """
        words = self._prompt_words
        odd = next((word for word in words if not word.isdecimal()), None)
        if odd is not None:
            raise CoreError(f"the prompt is token ids such as 3, 1, 4; {odd!r} is none")
        return tuple(map(int, words))

    @property
    def _prompt_words(self) -> list[str]:
        return self.prompt.replace(",", " ").split()

    def options(self, kind: Kind) -> list[str]:
        """As `kvscope check` takes them."""
        found: list[str] = []
        if kind == "class":
            found += ["--args", self.arguments] if self.arguments else []
            found += [part for name in self.declared for part in ("--declare", name)]
        else:
            found += ["--kind", "model"]
            found += [] if self.vocab is None else ["--vocab", str(self.vocab)]
            found += ["--prompt-ids", ",".join(self._prompt_words)] if self.prompt else []
            found += [] if self.reference is None else ["--reference", str(self.reference)]
        return found + ([] if self.adapter is None else ["--adapter", str(self.adapter)])
