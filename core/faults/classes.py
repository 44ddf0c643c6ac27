"""Faults that leave the same records in some runs: there nobody can tell them apart."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Alike:
    """A class: naming one of them is naming all.

    Attributes:
        ids: the faults.
        where: the runs in which all of their records are identical.
    """

    ids: tuple[str, ...]
    where: str


CLASSES: tuple[Alike, ...] = (
    Alike(
        ("pos-restart", "pos-memo"),
        "every call has as many tokens as the first, as with a prompt of one token",
    ),
    Alike(
        ("pos-wrong-axis", "pos-hole"),
        "there is one later call, and one key head more than tokens read before it",
    ),
    Alike(
        ("pos-wrong-axis", "pos-retained-rows"),
        "before each later call as many rows are held as there are key heads",
    ),
    Alike(
        ("pos-layer-counter", "pos-layer-prefill"),
        "every call reads one token",
    ),
    Alike(
        ("rope-on-read", "rope-write-back"),
        "no row is read again after it was turned where it lies, that at position 0 left out: "
        "one later call alone reads it, or rows out of order are copied to be read",
    ),
    Alike(
        ("mask-own-block", "mask-own-chunk"),
        "no single token is read after others",
    ),
    Alike(
        ("cap-late", "cap-one-row-test"),
        "each append that is too long is of several rows, and one row too long",
    ),
    Alike(
        ("spec-no-rollback", "spec-short"),
        "whenever tokens are taken back, it is one",
    ),
)


def are_alike(one: str, other: str) -> bool:
    """Whether there are runs in which the two cannot be told apart."""
    return any(one in each.ids and other in each.ids for each in CLASSES)
