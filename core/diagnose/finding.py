"""What a diagnosis says."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where something first goes wrong.

    Attributes:
        step: the step.
        layer: None for what is decided once per step.
        head: None where it belongs to no single head.
        field: one of `core.verdict.FIELDS`; None: no recorded field differs beyond its band.
    """

    step: int
    layer: int | None
    head: int | None
    field: str | None


@dataclass(frozen=True, slots=True)
class Rival:
    """Another mechanism that looks alike.

    Attributes:
        preset_like: id of a fault that works like it.
        separate_by: the observation that tells the two apart.
    """

    preset_like: str
    separate_by: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A mechanism, with what speaks for it.

    Attributes:
        mechanism: what goes wrong, in words.
        preset_like: id of a fault that works like it; None: no known mechanism fits, or none
            is set apart (then those that fit are the rivals).
        where: the first place.
        evidence: sentences that can be checked against the records.
        rivals: at most two.
    """

    mechanism: str
    preset_like: str | None
    where: Place
    evidence: tuple[str, ...]
    rivals: tuple[Rival, ...] = ()
