"""From the faults of a spec to the seam table of each step and layer."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from core.engine.seams import CORRECT, PER_LAYER, Seams
from core.errors import FaultError
from core.faults.fault import Fault
from core.faults.known import BUILT_IN, KnownFaults, LoadedFault
from core.spec import FaultUse


@dataclass(frozen=True, slots=True)
class Activation:
    """Which seam table each layer asks at each step. Built once, so equal tables are one object."""

    uses: tuple[tuple[FaultUse, Fault | LoadedFault], ...]
    n_layers: int

    def tables(self) -> Callable[[int], tuple[Seams, ...]]:
        """Step number to the table of each layer."""
        known: dict[tuple[int, ...], Seams] = {(): CORRECT}

        def table(active: tuple[int, ...]) -> Seams:
            if active not in known:
                patches = [self.uses[i][1] for i in active]
                changes = {f.seam: getattr(f.patch, f.seam) for f in patches}
                known[active] = replace(CORRECT, **changes)
            return known[active]

        all_correct = (CORRECT,) * self.n_layers

        def at(step: int) -> tuple[Seams, ...]:
            if not self.uses:
                return all_correct
            return tuple(table(self._active(step, layer)) for layer in range(self.n_layers))

        return at

    def _active(self, step: int, layer: int) -> tuple[int, ...]:
        return tuple(i for i, (use, _) in enumerate(self.uses) if is_acting(use, step, layer))


def is_acting(use: FaultUse, step: int, layer: int) -> bool:
    """Whether a fault that is on replaces its seam in this step and layer."""
    last = step if use.last_step is None else use.last_step
    return use.first_step <= step <= last and (use.layers is None or layer in use.layers)


def activate(
    uses: tuple[FaultUse, ...], n_layers: int, known: KnownFaults = BUILT_IN
) -> Activation:
    """The activation of a spec's faults in a model of `n_layers`.

    Raises:
        FaultError: an unknown fault or one whose file is not loaded, two on one seam, a layer that
            the model has not, a choice of layers for a decision that is taken once for all of
            them, or steps in wrong order.
    """
    pairs = tuple((use, fault) for use in uses for fault in known.of(use))
    for use, fault in pairs:
        _check_use(use, fault, n_layers)
    for i, (first_use, first) in enumerate(pairs):
        for other_use, other in pairs[i + 1 :]:
            if first.seam == other.seam and _meet(first_use, other_use):
                raise FaultError(
                    f"{first.id} and {other.id} both replace the seam {first.seam}; "
                    "choose one of them, or different steps or layers"
                )
    return Activation(pairs, n_layers)


def _check_use(use: FaultUse, fault: Fault | LoadedFault, n_layers: int) -> None:
    if use.first_step < 0 or (use.last_step is not None and use.last_step < use.first_step):
        raise FaultError(f"{use.id} acts from step {use.first_step} to {use.last_step}")
    if use.layers is None:
        return
    if fault.seam not in PER_LAYER:
        raise FaultError(
            f"{fault.id} replaces {fault.seam}, one decision for all layers; leave layers= out"
        )
    wrong = [layer for layer in use.layers if not 0 <= layer < n_layers]
    if wrong or not use.layers:
        named = ", ".join(map(str, wrong)) or "none"
        raise FaultError(
            f"{use.id} names layer {named}; the model has 0 to {n_layers - 1}: choose among them"
        )


PER_RUN = ("allocate",)
"""Decisions that are taken once, before the first step."""


def check_steps(uses: tuple[FaultUse, ...], n_steps: int, known: KnownFaults = BUILT_IN) -> None:
    """Raise FaultError where a choice of steps cannot do what it says in a run of `n_steps`."""
    for use in uses:
        for fault in known.of(use):
            if fault.seam in PER_RUN and (use.first_step, use.last_step) != (0, None):
                raise FaultError(
                    f"{use.id}: {fault.seam} is asked once, before step 0, and what it gave stays "
                    "for the whole run; leave @FROM-TO out"
                )
        if use.first_step >= n_steps:
            raise FaultError(
                f"{use.id}@{use.first_step} would never act: the steps of this run are 0 to "
                f"{n_steps - 1}; choose one of them"
            )


def _meet(a: FaultUse, b: FaultUse) -> bool:
    a_last = float("inf") if a.last_step is None else a.last_step
    b_last = float("inf") if b.last_step is None else b.last_step
    share_steps = a.first_step <= b_last and b.first_step <= a_last
    share_layers = a.layers is None or b.layers is None or bool(set(a.layers) & set(b.layers))
    return share_steps and share_layers
