"""How many tokens the model computed, and how many it would have without a cache."""

from dataclasses import dataclass

from core.readouts.run_view import RunView


@dataclass(frozen=True, slots=True)
class Work:
    """Tokens computed from the first step to the one looked at.

    Attributes:
        with_cache: those that this run computed, read again ones included.
        without_cache: the lengths of the texts that would be read from their start each time.
    """

    with_cache: int
    without_cache: int

    @property
    def sentence(self) -> str:
        """The two in words."""
        with_, without = self.with_cache, self.without_cache
        return f"tokens computed: {with_:,} with this cache, {without:,} without one"


def work_readout(view: RunView) -> Work:
    """The work up to the step looked at.

    Without a cache each step reads its text anew: all of it, or under re-prefill the last
    `capacity` tokens. A prompt in chunks would be read once.
    """
    computed, whole, cut = view.history.work(view.selection.step)
    return Work(computed, cut if view.spec.policy == "reprefill" else whole)
