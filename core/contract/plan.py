"""What is known of a class before any rule is asked: its policy, and the sizes it can have."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from core.contract.calls import Answer, Append, Ask, Call, Rows, Sizes
from core.contract.ideal import RIGHT, Habits, Ideal, Policy
from core.contract.reading import BATCH_STEP, Reader
from core.contract.subject import NotDrivableError, Subject, Surface

Declared = Literal["copies", "live_views", "whole_buffer", "broadcast"]
LAYERS_ASKED = 2
"""Layers that rules add rows to."""
TRIED_CAPACITY = 3
N_OVER = 4
"""Rows beyond it that are tried."""
MOST_OWN = 64
"""Rows that are tried of a class whose constructor is told no capacity."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a class is asked.

    Attributes:
        surface: what it is.
        policy: what it does when there is no room.
        declared: what its author promises.
        counts_seen: its length is the number of tokens seen, not of rows held.
        leaves_room: its length is one less than a full window: what the next token will find.
        gives_back: adding rows gives back what is to be read.
        no_batch: why it takes one sequence and not two; empty: it takes two.
        own_capacity: rows that it takes, or keeps, whatever it is told; None: as it is told, or no
            end was met.
    """

    surface: Surface
    policy: Policy
    declared: frozenset[Declared]
    counts_seen: bool = False
    leaves_room: bool = False
    gives_back: bool = True
    no_batch: str = ""
    own_capacity: int | None = None

    def offers(self, name: str) -> bool:
        """Whether it can be asked for this."""
        return name in self.surface.offers

    @property
    def has_no_known_end(self) -> bool:
        """Whether it is told no capacity, and took all rows that were tried."""
        return self.policy == "unbounded" and "capacity" not in self.surface.roles

    @property
    def is_whole(self) -> bool:
        """Whether whole buffers come back, by promise, for a mask to cover."""
        return "whole_buffer" in self.declared

    @property
    def has_heads(self) -> bool:
        """Whether its arrays have an axis of heads."""
        return "h" in self.surface.layout

    @property
    def has_batch(self) -> bool:
        """Whether its arrays have an axis of sequences."""
        return "b" in self.surface.layout

    @property
    def takes_batches(self) -> bool:
        """Whether it takes several sequences."""
        return self.has_batch and not self.no_batch

    def sizes(self, capacity: int, **others: int) -> Sizes:
        """Sizes that this class can have; sizes given by hand win, and blocks are whole."""
        fixed = {k: v for k, v in self.surface.fixed.items() if k in Sizes.__slots__}
        if self.own_capacity is not None:
            fixed["capacity"] = self.own_capacity
        block = self.surface.block_size or 1
        sizes = Sizes(
            capacity=-(-capacity // block) * block if capacity > 0 else capacity,
            n_layers=LAYERS_ASKED if self.surface.takes_layer else 1,
            n_heads=2 if self.has_heads else 1,
            sinks=0 if "sinks" in self.surface.roles else None,
        )
        return replace(replace(sizes, **others), **fixed)

    def ideal(self, sizes: Sizes, habits: Habits = RIGHT) -> Ideal:
        """A right cache of its kind, or one with known habits."""
        return Ideal(
            self.policy,
            sizes,
            habits,
            counts_seen=self.counts_seen,
            leaves_room=self.leaves_room,
            block_size=self.surface.block_size,
        )

    def reader(self, sizes: Sizes) -> Reader:
        """Names rows of arrays of these sizes."""
        return Reader(
            self.surface.layout,
            sizes.n_heads,
            sizes.d_k,
            sizes.d_v,
            sizes.batch,
            min(sizes.n_layers, LAYERS_ASKED),
        )


def rows_of(sizes: Sizes, tokens: Iterable[int], layer: int = 0) -> Append:
    """An append of right rows."""
    serials = tuple(tokens)
    k, v = (
        Rows(serials, sizes.n_heads, d, sizes.batch, sizes.dtype) for d in (sizes.d_k, sizes.d_v)
    )
    return Append(layer, k, v)


def plan_for(subject: Subject, declared: frozenset[Declared]) -> Plan:
    """Find out what a class does when it is full.

    Raises:
        NotDrivableError: it cannot be made with a capacity, or takes no row at all.
    """
    surface = subject.surface
    if surface.takes_positions:
        declared = declared | frozenset[Declared](("whole_buffer",))
    plan = Plan(surface, "unbounded", declared)
    sizes = plan.sizes(TRIED_CAPACITY)
    n_tried = sizes.capacity + N_OVER
    calls: list[Call] = [rows_of(sizes, [token]) for token in range(n_tried)]
    if plan.offers("length"):
        calls.append(Ask("length"))
    if plan.offers("read"):
        calls.append(Ask("read"))
    answers = subject.run(sizes, calls)
    first = answers[min(1, len(answers) - 1)]
    if first.error is not None:
        if not _shows_others_rows(subject, plan, sizes):
            raise NotDrivableError(f"it took no row at all: {': '.join(first.error)}")
        return replace(plan, policy="refuse")
    if "capacity" not in surface.roles:
        plan = _with_own_capacity(subject, plan)
        return replace(
            plan,
            gives_back=answers[1].pair is not None,
            no_batch=_refusal_of_two(subject, plan),
        )
    policy = _policy(plan, sizes, answers)
    length = answers[1 + n_tried].number if len(answers) > 1 + n_tried else None
    # With a count of tokens beside it, the length means rows, unless its name says otherwise.
    may_count = surface.length_is_a_place or not plan.offers("seen")
    counts_seen = policy == "window" and length == n_tried and may_count
    gives_back = answers[1].pair is not None
    shows_only_then = gives_back and not plan.offers("read_before")
    leaves_room = policy == "window" and shows_only_then and length == TRIED_CAPACITY - 1
    return replace(
        plan,
        policy=policy,
        counts_seen=counts_seen,
        leaves_room=leaves_room,
        gives_back=gives_back,
        no_batch=_refusal_of_two(subject, plan),
    )


def _with_own_capacity(subject: Subject, plan: Plan) -> Plan:
    """Of a class that is told no capacity: rows are added until it refuses, or lets one go."""
    sizes = plan.sizes(TRIED_CAPACITY)
    calls: list[Call] = [rows_of(sizes, [token]) for token in range(MOST_OWN)]
    read: list[Call] = [Ask("read")] if plan.offers("read") else []
    answers = subject.run(sizes, [*calls, *read])
    appends = answers[1 : 1 + MOST_OWN]
    refused = [answer.was_refused for answer in appends]
    if any(refused) or len(appends) < MOST_OWN:
        n_taken = refused.index(True) if any(refused) else len(appends) - 1
        return replace(plan, policy="refuse", own_capacity=n_taken)
    pair = answers[-1].pair if read else None
    if pair is None:
        return plan
    keys = plan.reader(sizes).view(pair, 0).keys
    is_newest = keys == tuple(range(MOST_OWN - len(keys), MOST_OWN))
    if is_newest and 0 < len(keys) < MOST_OWN:
        return replace(plan, policy="window", own_capacity=len(keys))
    return plan


def _shows_others_rows(subject: Subject, plan: Plan, sizes: Sizes) -> bool:
    """Whether a new cache shows rows that another one was given: then it may be full from birth."""
    if not plan.offers("read_before"):
        return False
    pair = subject.run(sizes, [Ask("read")])[-1].pair
    if pair is None:
        return False
    view = plan.reader(sizes).view(pair, 0)
    return any(isinstance(name, int) for name in (*view.keys, *view.values))


def _refusal_of_two(subject: Subject, plan: Plan) -> str:
    """What it says to a batch of two, having taken one; empty: it takes two, or was not asked."""
    sizes = plan.sizes(TRIED_CAPACITY, batch=2)
    if not plan.has_batch or sizes.batch != 2 or "batch" in plan.surface.fixed:
        return ""
    last = subject.run(sizes, [rows_of(sizes, [0])])[-1]
    return "" if last.error is None or last.is_last else ": ".join(last.error)


def _policy(plan: Plan, sizes: Sizes, answers: list[Answer]) -> Policy:
    if plan.surface.names_a_window:
        return "window"
    n_tried = sizes.capacity + N_OVER
    appends = answers[1 : 1 + n_tried]
    if any(answer.was_refused for answer in appends) or len(appends) < n_tried:
        return "refuse"
    pair = answers[-1].pair
    if pair is None:
        return "unbounded"
    view = plan.reader(sizes).view(pair, 0)
    return "unbounded" if 0 in view.keys else "window"


def of_batch(serial: int, b: int) -> int:
    """The serial of the same row of sequence b."""
    return serial + BATCH_STEP * b
