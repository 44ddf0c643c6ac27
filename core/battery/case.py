"""One case of the battery: which law, of which model, on which tokens. It has a text form."""

import re
import shlex
from dataclasses import dataclass, field, fields
from typing import Any

from core.errors import SpecError

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """What two runs are made of that must agree.

    Attributes:
        law: id of the law.
        model: model name.
        layers: how many of its first layers it keeps.
        policy: what happens when there is no room.
        capacity: slots.
        sinks: slots kept for the first tokens.
        ranks: whether tokens are numbered by their rank in the cache.
        chunk: tokens per prefill step; 0: the whole prompt at once.
        prompt: tokens of the prompt.
        then: tokens that are read after it, one by one.
        other: tokens of what else the law needs: an old prompt, drafts, the parents of beams.
        n: what the law counts: tokens taken back, rows of padding, steps before a copy, ...
    """

    law: str
    model: str
    layers: int
    policy: str
    capacity: int
    sinks: int = 0
    ranks: int = 0
    chunk: int = 0
    prompt: Ids = field(default=())
    then: Ids = field(default=())
    other: Ids = field(default=())
    n: int = 0

    @property
    def text(self) -> Ids:
        """The prompt and what is read after it."""
        return self.prompt + self.then

    @property
    def n_tokens(self) -> int:
        """All tokens that the case names."""
        return len(self.prompt) + len(self.then) + len(self.other)

    @property
    def size(self) -> tuple[int, int, int, int, int]:
        """Tokens, layers, slots, then the rest: a smaller case is easier to understand."""
        return self.n_tokens, self.layers, self.capacity, self.sinks + self.chunk + self.n, self.n

    def words(self) -> str:
        """The text that `read_case` reads."""
        return shlex.join(self.parts())

    def parts(self) -> list[str]:
        """Its fields, each as `name=value`, those that have their default left out."""
        return [
            f"{part.name}={_text_of(getattr(self, part.name))}"
            for part in fields(self)
            if getattr(self, part.name) != part.default
        ]


def read_case(text: str) -> Case:
    """The case of a text such as `law=chunks model=tiny-rope layers=2 … prompt=1,2,3`.

    Raises:
        SpecError: it is none; the message names the part.
    """
    known = {part.name: part for part in fields(Case)}
    values: dict[str, Any] = {}
    for word in _words_of(text):
        name, _, value = word.partition("=")
        if name not in known:
            raise SpecError(f"--case: {word!r} is not known; there are {', '.join(known)}")
        if name in values:
            raise SpecError(f"--case: {name}= stands there twice; leave one of them out")
        values[name] = _value_of(name, value)
    for name in ("law", "model", "layers", "policy", "capacity", "prompt"):
        if name not in values:
            raise SpecError(f"--case: {name}= is missing")
    return Case(**values)


def _words_of(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise SpecError(f"--case: {text!r} cannot be taken apart: {error}; close it") from None


def _text_of(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(str(item) for item in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return str(value)


def _value_of(name: str, value: str) -> object:
    if name in ("law", "model", "policy"):
        return value
    if name in ("prompt", "then", "other"):
        if not re.fullmatch(r"\d{1,9}(,\d{1,9})*", value, re.ASCII):
            raise SpecError(
                f"--case: {name}={value} is no list of token ids; write them as {name}=1,2,3"
            )
        return tuple(map(int, value.split(",")))
    if not re.fullmatch(r"-?\d{1,9}", value, re.ASCII):
        raise SpecError(f"--case: {name}={value} is no whole number of up to 9 digits")
    least, number = int(name in ("layers", "capacity")), int(value)
    if number < least:
        raise SpecError(f"--case: {name}={number}; it must be at least {least}")
    return number
