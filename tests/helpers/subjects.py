"""Classes asked one after the other in processes that stay, since starting one takes its time."""

from typing import Self

from core.contract.subject import Source, Subject


class Subjects:
    """Two processes: one for classes of NumPy, and one for those that need torch.

    Where torch is loaded, a class of NumPy would be given its arrays first.
    """

    def __init__(self, *, limit_s: float = 10.0, patience_s: float = 180.0) -> None:
        """As for a subject."""
        self._limits = {"limit_s": limit_s, "patience_s": patience_s}
        self._subjects: dict[bool, Subject] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for subject in self._subjects.values():
            subject.close()

    def turned_to(self, source: Source) -> Subject:
        """The subject that asks this class."""
        text = source.path.read_text("utf-8")
        needs_torch = "import torch" in text or "from transformers" in text
        subject = self._subjects.get(needs_torch)
        if subject is None:
            subject = self._subjects[needs_torch] = Subject(source, **self._limits)
        else:
            subject.turn_to(source)
        return subject
