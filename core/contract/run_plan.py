"""What a small model is to do whose keys and values a class keeps, step by step."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

ActName = Literal["read", "probe", "truncate", "reset"]


@dataclass(frozen=True, slots=True)
class Act:
    """What is done in a step.

    Attributes:
        name: "read" tokens, "probe" with rows that hold none, "truncate", or "reset", with which
            the next tokens begin another text.
        n: tokens to read; keys of a probe; tokens that stay.
        n_values: of a probe.
    """

    name: ActName
    n: int = 0
    n_values: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """A way in which a model reads a text.

    Attributes:
        ids: the text.
        chunks: tokens of each call.
    """

    ids: tuple[int, ...]
    chunks: tuple[int, ...]

    @classmethod
    def of_json(cls, told: Mapping[str, Any]) -> Self:
        """As `dataclasses.asdict` and JSON made it."""
        return cls(tuple(told["ids"]), tuple(told["chunks"]))


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What is to be run.

    Attributes:
        model: name of the model.
        capacity, sinks: of the cache; sinks are None where the class takes none.
        acts: step by step.
        is_of_model_test: whether the text is that of the model test.
        n_more: acts at the end that are none of the sequence: it reads no token, and a model that
            reads none shows nothing.
    """

    model: str
    capacity: int
    sinks: int | None
    acts: tuple[Act, ...]
    is_of_model_test: bool = False
    n_more: int = 0

    @property
    def n_tokens(self) -> int:
        """Tokens that are offered in all steps."""
        return sum(act.n for act in self.acts if act.name == "read")

    @classmethod
    def of_json(cls, told: Mapping[str, Any]) -> Self:
        """As `dataclasses.asdict` and JSON made it."""
        parts: dict[str, Any] = {**told, "acts": tuple(Act(**act) for act in told["acts"])}
        return cls(**parts)
