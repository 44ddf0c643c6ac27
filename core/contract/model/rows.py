"""Whose rows attention read, and which mistake of storing gives such rows."""

from collections.abc import Callable, Sequence

from core.contract.model.facts import Attention, Call, Whose
from core.contract.model.finding import Finding, call_words, like, seen, spans

MISSING = "rows that must be read are missing"

Test = Callable[["Read"], bool]


class Read:
    """The columns of one layer in one call that a query may see.

    Attributes:
        keys, values: of each column, the tokens that it may be, "zero", or empty for none.
        n: columns.
    """

    def __init__(self, calls: Sequence[Call], at: int, one: Attention) -> None:
        """Look at layer `one` of call `at`."""
        self.calls, self.at, self.one = calls, at, one
        self.call = calls[at]
        self.keys = _whose(one, one.keys)
        self.values = _whose(one, one.values)
        self.n = one.n_columns

    @property
    def tokens(self) -> list[int | str | None]:
        """One name per column: its token, "zero", or None where it is nobody's."""
        return [self.name(column) for column in range(self.n)]

    def name(self, column: int) -> int | str | None:
        """Of a column: by its value, else by its key."""
        for whose in (self.values, self.keys):
            if whose is None or not whose[column]:
                continue
            found = whose[column]
            if found == "zero":
                return "zero"
            return column if column in found else found[0]
        return None

    @property
    def is_window(self) -> bool:
        """Whether fewer tokens may be seen than were read."""
        return len(self.one.expected[-1]) < self.call.end

    @property
    def right(self) -> list[int]:
        """The tokens that the last query must see."""
        return list(self.one.expected[-1])


def _whose(one: Attention, own: Sequence[Whose] | None) -> list[Whose] | None:
    """In layer 0 a key at a wrong position still tells its token."""
    if own is None:
        return None
    found = list(own)
    if own is one.keys:
        for column, places in enumerate(one.key_places):
            if not found[column] and places != "zero":
                found[column] = sorted({token for token, _ in places})
    return found


def _all_zero(read: Read) -> bool:
    return all(read.name(column) == "zero" for column in range(min(read.n, read.call.end)))


def _first_zero(read: Read) -> bool:
    tokens = read.tokens
    return tokens[0] == "zero" and tokens[1 : read.call.end] == list(range(1, read.call.end))


def _row_zero(read: Read) -> bool:
    """The new rows stand first, and the rows that stood there are gone."""
    n, own = read.call.n, list(range(read.call.past, read.call.end))
    is_first = read.call.past > 0 and read.tokens[:n] == own and read.tokens[-1] != own[-1]
    return is_first and not set(range(min(n, read.call.past))) & set(read.tokens)


def _newest_everywhere(read: Read) -> bool:
    """All rows that came alone are the newest."""
    alone = [call.past for call in read.calls[: read.at + 1] if call.n == 1]
    newest = read.call.end - 1
    names = [read.name(column) for column in alone if column < read.n]
    return len(names) > 1 and all(name == newest for name in names)


def _twice(read: Read) -> bool:
    tokens = [token for token in read.tokens if isinstance(token, int)]
    return len(tokens) > read.call.end and len(set(tokens)) < len(tokens)


def _hole(read: Read) -> bool:
    """One row behind the prompt was never written."""
    first = read.calls[0].n
    if read.n <= first or read.name(first) != "zero":
        return False
    later = [token for token in read.tokens[first + 1 :] if isinstance(token, int)]
    return first in later


def _newest_left(read: Read) -> bool:
    held = [token for token in read.tokens if isinstance(token, int)]
    return read.is_window and held[: len(held) - read.call.n] == list(
        range(len(held) - read.call.n)
    )


def _all_kept(read: Read) -> bool:
    return read.is_window and read.tokens == list(range(read.call.end)) and read.n > len(read.right)


def _other_layer(read: Read) -> bool:
    others = {other for other in read.one.other_layers if other is not None}
    return bool(others)


def _scrambled(read: Read) -> bool:
    """Earlier rows are whole in some heads and gone, or another's, in others."""
    heads = read.one.value_heads
    if heads is None:
        return False
    kept = [
        [column in whose[column] for column in range(min(read.n, read.call.past)) if whose]
        for whose in ([w if w != "zero" else () for w in head] for head in heads)
    ]
    whole = [bool(head) and all(head) for head in kept]
    return any(whole) and not all(whole)


def _before_attend(read: Read) -> bool:
    """A chunk finds only the newest rows, fewer than its first query must see."""
    first = read.one.expected[0]
    held = {token for token in read.tokens if isinstance(token, int)}
    return read.call.n > 1 and read.is_window and bool(set(first) - held) and bool(held) and (
        held == set(range(read.call.end - len(held), read.call.end))
    )  # fmt: skip


def _first_left(read: Read) -> bool:
    """The tokens at the start, which must stay, are gone."""
    held = {token for token in read.tokens if isinstance(token, int)}
    missing = set(read.right) - held
    return 0 in missing and read.right != list(range(read.call.end)) and min(held, default=0) > 0


TESTS: tuple[tuple[str, Test], ...] = (
    ("store-write-lost", _all_zero),
    ("store-first-lost", _first_zero),
    ("store-layers-share", _other_layer),
    ("store-row-zero", _row_zero),
    ("store-alias-in", _newest_everywhere),
    ("store-double-append", _twice),
    ("pos-hole", _hole),
    ("store-grow-scramble", _scrambled),
    ("sinks-lost", _first_left),
    ("evict-before-attend", _before_attend),
    ("evict-newest", _newest_left),
    ("evict-never", _all_kept),
)


def rows_finding(calls: Sequence[Call], last: int) -> Finding | None:
    """The first call, up to the last one named, and layer that read rows of other tokens."""
    for at, call in enumerate(calls[: last + 1]):
        for before, one in zip((None, *call.attentions), call.attentions, strict=False):
            if before is not None and (before.output_off is not False):
                break  # what comes later follows from this layer
            read = Read(calls, at, one)
            if (read.keys is None and read.values is None) or not _is_off(read):
                continue
            later = [] if before is not None else _later(calls, at, one.layer)
            return _named(read, later)
    return None


def _later(calls: Sequence[Call], at: int, layer: int) -> list[Read]:
    """What the first layer, whose rows hang on tokens alone, read wrongly in later calls."""
    reads = [
        Read(calls, later, one)
        for later in range(at + 1, len(calls))
        for one in calls[later].attentions[:1]
        if one.layer == layer
    ]
    known = [read for read in reads if read.keys is not None or read.values is not None]
    return [read for read in known if _is_off(read)]


def _is_off(read: Read) -> bool:
    """Whether tokens that must be seen are not there, or visible columns are nobody's."""
    visible = read.one.visible[-1]
    names = [read.name(column) for column in visible]
    seen_tokens = sorted(name for name in names if isinstance(name, int))
    held = {name for name in read.tokens if isinstance(name, int)}
    if set(read.right) - held:
        return True
    if any(not isinstance(name, int) for name in names):
        return True
    if len(seen_tokens) != len(set(seen_tokens)) or _is_mismatched(read):
        return True
    return any(set(tokens) - held for tokens in read.one.expected)


def _is_mismatched(read: Read) -> bool:
    """Whether a visible column has the key of one token and the value of another."""
    if read.keys is None or read.values is None:
        return False
    for column in read.one.visible[-1]:
        key, value = read.keys[column], read.values[column]
        if key == "zero" or value == "zero":
            if key != value:
                return True
        elif key and value and not set(key) & set(value):
            return True
    return False


def _named(read: Read, later: Sequence[Read]) -> Finding:
    """By a mechanism only if that gives what was read later too."""
    layer = read.one.layer
    if read.one.is_narrowed:
        words = (
            f"call with {call_words(read.call)}, layer {layer}: every row read is within 3 % of "
            "the right one, and none is another token's"
        )
        return seen("rows are kept with fewer digits than they have", read.at, layer, words)
    words = _words(read)
    for name, test in TESTS:
        if test(read) and all(map(test, later)):
            return like(name, read.at, layer, words)
    if read.call.past and read.n <= read.call.n:
        return seen("the past is not read", read.at, layer, words)
    if _is_mismatched(read):
        return seen("keys and values of different tokens stand in one row", read.at, layer, words)
    missing = sorted(set(read.right) - {t for t in read.tokens if isinstance(t, int)})
    if missing and all(read.name(column) is not None for column in range(read.n)):
        return seen(MISSING, read.at, layer, words)
    return seen("rows are not read as they were stored", read.at, layer, words)


def _words(read: Read) -> str:
    names = read.tokens
    zero = [column for column, name in enumerate(names) if name == "zero"]
    other = [column for column, name in enumerate(names) if name is None]
    parts = [f"{read.n} {'row' if read.n == 1 else 'rows'} read, of {_list(names)}"]
    held = {name for name in names if isinstance(name, int)}
    query = next((i for i, e in enumerate(read.one.expected) if set(e) - held), read.call.n - 1)
    right = list(read.one.expected[query])
    parts.append(f"must be {spans(right)} for the query at token {read.call.past + query}")
    if zero:
        visible = set(read.one.visible[-1])
        weight = sum(read.one.weights[-1][column] for column in zero if column in visible)
        parts.append(f"{100 * weight:.3g} % of the weight is on rows never written: {spans(zero)}")
    if other:
        layers = sorted({x for x in read.one.other_layers if x is not None})
        if layers:
            parts.append(f"rows that hold values of layer {spans(layers)}: {spans(other)}")
        else:
            parts.append(f"rows that hold numbers of no token: {spans(other)}")
    keys = _split_words(read)
    return f"call with {call_words(read.call)}, layer {read.one.layer}: " + "; ".join(
        [*parts, *keys]
    )


def _split_words(read: Read) -> list[str]:
    if not _is_mismatched(read) or read.keys is None or read.values is None:
        return []
    keys = [_one(whose, column) for column, whose in enumerate(read.keys)]
    values = [_one(whose, column) for column, whose in enumerate(read.values)]
    return [f"keys of {_list(keys)}, values of {_list(values)}"]


def _one(whose: Whose, column: int) -> int | str | None:
    if whose == "zero" or not whose:
        return "zero" if whose == "zero" else None
    return column if column in whose else whose[0]


def _list(names: Sequence[int | str | None]) -> str:
    if list(names) == list(range(len(names))):
        return f"tokens {spans(list(range(len(names))))}"
    shown = ["?" if name is None else str(name) for name in names[:16]]
    more = " …" if len(names) > 16 else ""
    return f"tokens [{', '.join(shown)}{more}]"
