"""One sequence of calls as the body of a test, in plain Python."""

import math
import re
from collections.abc import Iterator
from dataclasses import replace

from core.contract.calls import Append, Ask, Rows, Sizes
from core.contract.ideal import Expected
from core.contract.plan import Plan, rows_of
from core.contract.rule import A_REASON, SHARED, Break, Case
from core.contract.subject import Source

BLOCKS_RULE = 25
"""Judges what the first row of a block may read, rows included that leave with it."""

REORDER_RULE = 32
"""May add a row behind those that were reordered, to see them."""

TYPES_RULE = 35
"""Leaves it to the class whether rows of another number type are refused."""


def body(
    source: Source, plan: Plan, case: Case, found: Break, *, is_about_blocks: bool
) -> Iterator[str]:
    """The making of the cache, and each call with what it must give."""
    arguments = _arguments(source, plan, case.sizes)
    making = f"cache = load()({arguments})"
    if case.sizes.capacity < 1:
        yield from ("with pytest.raises(Exception):", f"    {making}")
        return
    if found.aspect == SHARED:
        yield from ("made = load()", f"other = made({arguments})")
        first = _Writer(plan, case, found)
        yield from first.rows(0, rows_of(case.sizes, [0]))
        yield re.sub(r"\bcache\b", "other", first.append(0, rows_of(case.sizes, [0])), count=1)
        making = f"cache = made({arguments})"
    yield making
    yield from _Writer(plan, case, found, is_about_blocks=is_about_blocks).lines()


def type_body(source: Source, plan: Plan, case: Case, found: Break) -> Iterator[str]:
    """Reads before and after an append of another number type show the same type."""
    yield f"cache = load()({_arguments(source, plan, case.sizes)})"
    yield "types = []"
    writer = _Writer(plan, case, found)
    for at, call in enumerate(case.calls):
        if isinstance(call, Append):
            yield from writer.rows(at, call)
            yield "with contextlib.suppress(Exception):"
            yield f"    back{call.layer} = {writer.append(at, call)}"
            yield f"    types += [array.dtype for array in back{call.layer}]"
        else:
            yield f"types += [array.dtype for array in ({writer.read(call)})]"
    yield "assert len(set(types)) == 1, types"
    appended = {call.k.dtype for call in case.calls if isinstance(call, Append)}
    if appended <= {case.sizes.dtype}:  # then it is the type that the cache was told
        yield f'assert str(types[0]).endswith("{case.sizes.dtype}"), types'


def _arguments(source: Source, plan: Plan, sizes: Sizes) -> str:
    if plan.surface.is_adapted:
        return ", ".join(f"{name}={value!r}" for name, value in sizes.as_json().items())
    given = {name: repr(value) for name, value in source.arguments.items()}
    is_torch = plan.surface.library == "torch"
    for name, roles in plan.surface.arguments.items():
        for role in roles:
            value = getattr(sizes, role)
            if value is not None:
                dtype = f"torch.{value}" if is_torch else repr(value)
                given[name] = dtype if role == "dtype" else repr(value)
                break
    return ", ".join(f"{name}={value}" for name, value in given.items())


class _Writer:
    """The lines of one sequence."""

    def __init__(
        self, plan: Plan, case: Case, found: Break, *, is_about_blocks: bool = False
    ) -> None:
        self._plan, self._case, self._sizes = plan, case, case.sizes
        self._found = found
        self._spelling = plan.surface.spelling
        self._is_about_blocks = is_about_blocks
        self._ideal = plan.ideal(case.sizes)
        self._n_appended: dict[int, int] = {}
        self._checks: list[str] = []  # of each pair that came back: how it is checked
        self._parents: tuple[int, ...] | None = None
        self._n_reordered: int | None = None  # rows that were there; None: none came later
        self._may_be_emptied = False
        self._has_looked = False

    def lines(self) -> Iterator[str]:
        """Each call with what it must give."""
        for at, call in enumerate(self._case.calls):
            expected = self._ideal.expected(call)
            if isinstance(call, Append):
                yield from self._append(at, call, expected)
            elif call.call in ("length", "seen"):
                yield f"check_number({self._number(call)}, {self._or_emptied(expected.number)})"
            elif call.call == "read":
                yield from self._read(call, expected)
            elif call.call == "blocks":
                yield self._blocks(expected)
            elif call.call in ("look", "overwrite_got", "overwrite_given"):
                yield from self._touch(call)
            else:
                yield from self._change(at, call, expected)

    def rows(self, at: int, call: Append) -> Iterator[str]:
        """The arrays of an append."""
        usual = self._plan.sizes(1)
        yield f"k{at} = {_rows('keys', call.k, call.layer, usual, usual.d_k)}"
        yield f"v{at} = {_rows('values', call.v, call.layer, usual, usual.d_v)}"
        if call.scratch is not None:
            of = self._append_at(call.scratch)
            yield f"k{of}[...], v{of}[...] = k{at}, v{at}  # the same arrays once more"
            yield f"k{at}, v{at} = k{of}, v{of}"

    def append(self, at: int, call: Append) -> str:
        """The call itself."""
        start = self._n_appended.get(call.layer, 0)
        return self._spelling["append"].format(
            k=f"k{at}",
            v=f"v{at}",
            layer=call.layer,
            start=start,
            end=start + len(call.k.tokens),
        )

    def read(self, call: Ask) -> str:
        """Keys and values of a layer."""
        return self._spelling["read"].format(layer=call.layer) or f"back{call.layer}"

    def _append(self, at: int, call: Append, expected: Expected) -> Iterator[str]:
        yield from self.rows(at, call)
        spelled = self.append(at, call)
        if expected.refused or call.k.kind == "meta":
            yield from self._refused(at, spelled)
        elif expected.refused is None:
            yield from ("with contextlib.suppress(Exception):", f"    {spelled}")
        else:
            self._n_appended[call.layer] = self._n_appended.get(call.layer, 0) + len(call.k.tokens)
            yield f"back{call.layer} = {spelled}"
            if self._parents is None:
                yield f"check_back(back{call.layer}, {self._check(call.layer, expected)})"
            else:  # the new row is of no parent
                self._n_reordered = self._n_appended[call.layer] - len(call.k.tokens)
                yield self._first_of(f"back{call.layer}", call.layer, expected)
        self._checks.append("")

    def _blocks(self, expected: Expected) -> str:
        """The first look says how many there are in all."""
        size, layers = self._plan.surface.block_size or 1, self._sizes.n_layers
        needed = math.ceil((expected.number or 0) / size)
        known = "n_blocks" if self._has_looked else "None"
        self._has_looked = True
        allowed = sorted({needed, needed * layers})
        return f"n_blocks = check_blocks({self._spelling['blocks']}, {known}, {allowed})"

    def _number(self, call: Ask) -> str:
        return self._spelling[call.call].format(layer=call.layer)

    def _read(self, call: Ask, expected: Expected) -> Iterator[str]:
        name, spelled = f"read{len(self._checks)}", self.read(call)
        if self._n_reordered is not None:
            yield self._first_of(spelled, call.layer, expected)
            return
        if not expected.tokens or self._may_be_emptied:
            spelled = f"attempt(lambda: ({spelled}))"
        check = self._check(call.layer, expected)
        self._checks.append(check)
        yield f"{name} = {spelled}"
        yield f"check_rows({name}, {check})"

    def _first_of(self, spelled: str, layer: int, expected: Expected) -> str:
        """A look at the rows that were reordered, with others behind them."""
        n = self._n_reordered
        check = self._check(layer, replace(expected, tokens=(expected.tokens or ())[:n]))
        return f"check_rows(first({spelled}, {n}), {check})"

    def _touch(self, call: Ask) -> Iterator[str]:
        if call.call == "look":
            yield f"check_rows(read{call.of}, {self._checks[call.of]})"
        elif call.call == "overwrite_got":
            yield "with contextlib.suppress(Exception):"
            yield f"    for array in read{call.of}:"
            yield "        array[...] = 9"
        else:
            of = self._append_at(call.of)
            yield f"k{of}[...] = v{of}[...] = 7"

    def _refused(self, at: int, spelled: str) -> Iterator[str]:
        """A call that must raise, and where it did by a mistake, must not by the same."""
        if self._found.expected != A_REASON or self._found.at != at:
            yield from ("with pytest.raises(Exception):", f"    {spelled}")
            return
        kind = self._found.found.partition(":")[0].partition(" ")[0]
        yield from ("with pytest.raises(Exception) as refusal:", f"    {spelled}")
        yield f'assert refusal.typename != "{kind}", refusal.value'

    def _change(self, at: int, call: Ask, expected: Expected) -> Iterator[str]:
        index = str(list(call.index))
        if self._plan.surface.library == "torch":
            index = f"torch.tensor({index})"
        gone = call.n - max(self._n_appended.values(), default=0)
        spelled = self._spelling[call.call].format(n=call.n, gone=gone, trimmed=-gone, index=index)
        self._count(call)
        if expected.refused or any(parent >= self._sizes.batch for parent in call.index):
            yield from self._refused(at, spelled)
        elif call.call == "truncate" and expected.refused is None:
            yield from ("emptied = False", "with contextlib.suppress(Exception):", f"    {spelled}")
            if call.n < 0:  # to stop at 0 is as right as to refuse
                self._may_be_emptied = True
                yield "    emptied = True"
        else:
            yield spelled

    def _count(self, call: Ask) -> None:
        """Follow what a call does to the rows that were added, and to the sequences."""
        if call.call == "reset":
            self._n_appended.clear()
        elif call.call == "truncate" and call.n >= 0:
            self._n_appended = {layer: min(n, call.n) for layer, n in self._n_appended.items()}
        elif call.call == "reorder":
            self._parents = call.index

    def _or_emptied(self, wanted: object) -> str:
        if not self._may_be_emptied:
            return f"{wanted}"
        return f"{0 if isinstance(wanted, int) else []} if emptied else {wanted}"

    def _check(self, layer: int, expected: Expected) -> str:
        """What is handed to the function that compares rows."""
        choices = [list(expected.shown_with(n)) for n in range(1, len(expected.older) + 1)]
        tokens = list(expected.tokens or ())
        if self._is_about_blocks and choices:
            tokens, choices = choices[-1], [choices[-1][1:]]
        parts = [self._or_emptied(tokens)]
        parts += [f"or_else={choices}"] if choices else []
        parts += [f"layer={layer}"] if layer else []
        if self._sizes.batch != self._plan.sizes(1).batch:
            parts.append(f"batch={self._sizes.batch}")
        if self._parents is not None:
            parts.append(f"parents={list(self._parents)}")
        return ", ".join(parts)

    def _append_at(self, n: int) -> int:
        """Which call is the n-th append."""
        return [at for at, call in enumerate(self._case.calls) if isinstance(call, Append)][n]


def _rows(name: str, rows: Rows, layer: int, sizes: Sizes, d: int) -> str:
    """The call that makes them, in the test."""
    special = rows.special or {}
    tokens: list[int | str] = [special.get(place, token) for place, token in enumerate(rows.tokens)]
    if rows.fill is not None:
        tokens = ["zeros"] * len(tokens)
    odd = f", layer={layer}" if layer else ""
    odd += f", d={rows.d}" if rows.d != d else ""
    odd += f", heads={rows.n_heads}" if rows.n_heads != sizes.n_heads else ""
    odd += f", batch={rows.batch}" if rows.batch != sizes.batch else ""
    odd += f', dtype="{rows.dtype}"' if rows.dtype != sizes.dtype else ""
    made = f"{name}({tokens}{odd})"
    return made if rows.kind == "plain" else f'lying({made}, "{rows.kind}")'
