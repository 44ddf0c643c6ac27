"""What is checked: a thing in a file, and what a person says of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.own_code_wishes import Wishes
from core.contract.names_in_file import Named, names_in
from core.errors import CoreError


@dataclass(frozen=True, slots=True)
class Target:
    """A thing in a file."""

    path: Path
    named: Named

    def files(self, wishes: Wishes) -> list[Path]:
        """All that is run, but for what these import."""
        return [self.path] if wishes.adapter is None else [self.path, wishes.adapter]

    def ask(self, wishes: Wishes) -> dict[str, Any]:
        """What the checker is asked.

        Raises:
            CoreError: something that was said of the code cannot be used.
        """
        adapter = wishes.adapter
        return {
            "kind": self.named.kind,
            "path": str(self.path),
            "name": self.named.name,
            "args": wishes.values() if adapter is None else {},
            "declared": list(wishes.declared),
            "adapter": None if adapter is None else str(adapter.resolve()),
            "vocab": wishes.vocab,
            "prompt": list(wishes.prompt_ids()),
            "reference": None if wishes.reference is None else str(wishes.reference),
        }

    def as_it_is_now(self) -> tuple["Target", Sequence[Named]]:
        """The same in the file as it was saved last, and what else that has to offer.

        Raises:
            CoreError: it cannot be read, or has no such thing any more.
        """
        names = names_in(self.path)
        alike = [named for named in names if named.name == self.named.name]
        if not alike:
            others = ", ".join(named.name for named in names)
            raise CoreError(f"{self.path.name} has no {self.named.name} any more; it has {others}")
        return Target(self.path, alike[0]), names
