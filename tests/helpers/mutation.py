"""Small faults put into a class by changing its syntax tree, one place at a time.

An operator looks at one node and tells what could stand there in its place. Nothing here knows what
a cache is but the names that caches use: k and v, layer_idx, dim and axis. The file is long because
it is a list: the operators are read side by side.
"""

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

SWAPPED = {"k": "v", "old_k": "old_v", "key_cache": "value_cache", "keys": "values"}
SWAPPED |= {other: one for one, other in SWAPPED.items()}
COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
COMPUTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Mod: ast.FloorDiv}
PLAIN = (ast.Assign, ast.AugAssign, ast.Expr)
OTHER_AXES = (0, 1, 2, 3)


@dataclass(frozen=True, slots=True)
class Operator:
    """A kind of fault.

    Attributes:
        name: one word, part of the ids of its mutants.
        example: what it does.
        alternatives: node -> what may stand in its place.
    """

    name: str
    example: str
    alternatives: Callable[[ast.AST], Iterator[ast.AST]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A class with one fault.

    Attributes:
        id: class, line, operator, and a number where these do not tell it from another.
        operator: the name of its operator.
        text: the source.
        change: the lines that differ, before and after.
    """

    id: str
    operator: str
    text: str
    change: str


def mutants_of(name: str, text: str) -> list[Mutant]:
    """Every mutant of a source, no two alike and none like the source, in order of its lines."""
    tree = ast.parse(text)
    before = ast.unparse(tree)
    seen = {ast.dump(tree)}
    found: list[Mutant] = []
    n_so_far: dict[str, int] = {}
    for node in _walked(tree):
        for operator in OPERATORS:
            for other in operator.alternatives(node):
                mutated = ast.fix_missing_locations(_replaced(tree, node, other))
                dumped = ast.dump(mutated)
                if dumped in seen:
                    continue
                seen.add(dumped)
                stem = f"{name}:{_line(node)}:{operator.name}"
                n_so_far[stem] = n_so_far.get(stem, 0) + 1
                n = n_so_far[stem]
                source = ast.unparse(mutated) + "\n"
                change = _change(before, source)
                id_ = stem if n == 1 else f"{stem}:{n}"
                found.append(Mutant(id_, operator.name, source, change))
    return sorted(found, key=lambda m: (int(m.id.split(":")[1]), m.id))


def _walked(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those of messages, which promise nothing."""
    yield node
    if not isinstance(node, ast.Raise):
        for child in ast.iter_child_nodes(node):
            yield from _walked(child)


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _replaced(thing: Any, old: ast.AST, new: ast.AST) -> Any:
    """The same tree with another node in one place; the old tree stays."""
    if thing is old:
        return new
    if isinstance(thing, list):
        return [_replaced(each, old, new) for each in thing]
    if isinstance(thing, ast.AST):
        return _with(thing, **{n: _replaced(v, old, new) for n, v in ast.iter_fields(thing)})
    return thing


def _with(node: Any, **fields: Any) -> Any:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _change(before: str, after: str) -> str:
    old, new = before.split("\n"), after.rstrip("\n").split("\n")
    while old and new and old[0] == new[0]:
        old, new = old[1:], new[1:]
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    left, right = ("; ".join(line.strip() for line in lines) for lines in (old, new))
    return f"{left} -> {right or 'nothing'}"


def _plus(value: Any, n: int) -> ast.AST:
    if _is_whole_number(value):
        return ast.Constant(value.value + n)
    sign = ast.Add() if n > 0 else ast.Sub()
    return ast.BinOp(value, sign, ast.Constant(abs(n)))


def _is_whole_number(node: Any) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _comparisons(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            if type(op) in COMPARED:
                ops: list[Any] = [*node.ops[:i], COMPARED[type(op)](), *node.ops[i + 1 :]]
                yield _with(node, ops=ops)


def _links(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        yield _with(node, ops=node.ops[:-1], comparators=node.comparators[:-1])
        yield _with(node, left=node.comparators[0], ops=node.ops[1:],
                    comparators=node.comparators[1:])  # fmt: skip
    if isinstance(node, ast.BoolOp):
        yield _with(node, op=ast.And() if isinstance(node.op, ast.Or) else ast.Or())
        for i in range(len(node.values)):
            values = node.values[:i] + node.values[i + 1 :]
            yield values[0] if len(values) == 1 else _with(node, values=values)


def _conditions(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.If | ast.While):
        yield _with(node, test=ast.Constant(value=False))
        if isinstance(node, ast.If):
            yield _with(node, test=ast.Constant(value=True))
            yield _with(node, test=ast.UnaryOp(ast.Not(), node.test))


def _may_be_one_off(node: ast.AST) -> bool:
    """Whether a statement has a value to which one can be added."""
    if isinstance(node, ast.Assign):
        return isinstance(node.value, ast.BinOp | ast.Name | ast.Subscript)
    if isinstance(node, ast.Return):
        return not isinstance(node.value, ast.Tuple | None)
    return isinstance(node, ast.AugAssign)


def _off_by_one(node: ast.AST) -> Iterator[ast.AST]:
    for n in (1, -1):
        if _is_whole_number(node):
            yield _plus(node, n)
        elif isinstance(node, ast.Slice):
            for bound in ("lower", "upper"):
                if getattr(node, bound) is not None:
                    yield _with(node, **{bound: _plus(getattr(node, bound), n)})
        elif _may_be_one_off(node):
            yield _with(node, value=_plus(getattr(node, "value", None), n))
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "range":
            yield _with(node, args=[*node.args[:-1], _plus(node.args[-1], n)])


def _counting(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.AugAssign):
        yield ast.Assign([node.target], node.value)
        yield _with(node, op=ast.Sub())
        yield _with(node, value=ast.Constant(1))
    if isinstance(node, ast.Assign) and getattr(node.value, "id", "") in ("end", "n"):
        yield ast.AugAssign(node.targets[0], ast.Add(), node.value)
    is_len = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "len"
    is_shape = isinstance(node, ast.Subscript) and getattr(node.value, "attr", "") == "shape"
    if is_len or (is_shape and not isinstance(getattr(node, "slice", None), ast.Slice)):
        yield ast.Constant(1)


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    if isinstance(node, ast.FunctionDef | ast.If | ast.For | ast.While):
        yield node.body


def _order(node: ast.AST) -> Iterator[ast.AST]:
    for body in _bodies(node):
        for i in range(len(body) - 1):
            if not isinstance(body[i + 1], ast.Return | ast.Raise) and _depend(*body[i : i + 2]):
                yield _with(node, body=[*body[:i], body[i + 1], body[i], *body[i + 2 :]])
        for i, statement in enumerate(body):
            if isinstance(statement, ast.If) and isinstance(statement.body[0], ast.Raise):
                rest = body[:i] + body[i + 1 :]
                at = len(rest) - isinstance(rest[-1], ast.Return)
                yield _with(node, body=[*rest[:at], statement, *rest[at:]])


def _depend(one: ast.stmt, other: ast.stmt) -> bool:
    """Whether their order can matter: one may raise, or uses what the other sets."""
    if any(isinstance(statement, ast.If | ast.While | ast.For) for statement in (one, other)):
        return True
    return _uses(other, one) or _uses(one, other)


def _uses(statement: ast.stmt, earlier: ast.stmt) -> bool:
    stored = [
        ast.unparse(each)
        for each in ast.walk(earlier)
        if isinstance(each, ast.Name | ast.Attribute) and isinstance(each.ctx, ast.Store)
    ]
    return any(ast.unparse(each) in stored for each in ast.walk(statement)
               if isinstance(each, ast.Name | ast.Attribute))  # fmt: skip


def _removals(node: ast.AST) -> Iterator[ast.AST]:
    for body in _bodies(node):
        for i, statement in enumerate(body):
            if isinstance(statement, PLAIN):
                yield _with(node, body=body[:i] + body[i + 1 :] or [ast.Pass()])
    if isinstance(node, ast.FunctionDef) and node.name[0] != "_":
        yield _with(node, body=[ast.Pass()])


def _axes(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Subscript) and _is_whole_number(node.slice):
        if getattr(node.value, "attr", "") == "shape":
            yield from (_with(node, slice=ast.Constant(axis)) for axis in OTHER_AXES)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        elements = node.slice.elts
        for i in range(len(elements) - 1):
            swapped = [*elements[:i], elements[i + 1], elements[i], *elements[i + 2 :]]
            yield _with(node, slice=_with(node.slice, elts=swapped))
    elif isinstance(node, ast.keyword) and node.arg in ("axis", "dim"):
        yield from (_with(node, value=ast.Constant(axis)) for axis in OTHER_AXES)


def _ends(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Slice) and node.upper is not None:
        if node.lower is None:
            yield _with(node, lower=node.upper, upper=None)
            yield _with(node, lower=ast.UnaryOp(ast.USub(), node.upper), upper=None)
            yield _with(node, upper=None)
        else:
            yield _with(node, lower=None, upper=ast.BinOp(node.upper, ast.Sub(), node.lower))
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("min", "max"):
        name = "max" if getattr(node.func, "id", "") == "min" else "min"
        yield _with(node, func=_with(node.func, id=name))
        yield from node.args
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "range":
        backwards = ast.Slice(None, None, ast.UnaryOp(ast.USub(), ast.Constant(1)))
        yield ast.Subscript(node, backwards, ast.Load())


def _layers(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Subscript) and getattr(node.slice, "id", "") == "layer_idx":
        yield _with(node, slice=ast.Constant(0))
    if isinstance(node, ast.Call):
        for i, each in enumerate(node.args):
            if getattr(each, "id", "") == "layer_idx":
                yield _with(node, args=[*node.args[:i], ast.Constant(0), *node.args[i + 1 :]])
    if isinstance(node, ast.ListComp):  # one buffer for all layers
        made = node.generators[0].iter
        if isinstance(made, ast.Call) and getattr(made.func, "id", "") == "range":
            yield ast.BinOp(ast.List([node.elt], ast.Load()), ast.Mult(), made.args[0])


def _pairs(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Name) and node.id in SWAPPED:
        yield _with(node, id=SWAPPED[node.id])
    elif isinstance(node, ast.Attribute) and node.attr in SWAPPED:
        yield _with(node, attr=SWAPPED[node.attr])
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
        yield _with(node, value=_with(node.value, elts=node.value.elts[::-1]))


def _sums(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp):
        if type(node.op) in COMPUTED:
            yield _with(node, op=COMPUTED[type(node.op)]())
        yield node.left
        yield node.right


def _copies(node: ast.AST) -> Iterator[ast.AST]:
    """Arrays that are kept or handed out where their numbers should be."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        target = node.targets[0]
        if isinstance(target.slice, ast.Slice | ast.Tuple):
            yield _with(node, targets=[_with(target.value, ctx=ast.Store())])
            yield from _kept(node, target)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        last = node.slice.elts[-1]
        if getattr(last, "id", "") == "order" or isinstance(last, ast.Call):
            n = ast.Slice(None, ast.Call(ast.Name("len", ast.Load()), [last], []), None)
            elements = [*node.slice.elts[:-1], n]
            yield _with(node, slice=_with(node.slice, elts=elements))


def _kept(node: ast.Assign, target: ast.Subscript) -> Iterator[ast.AST]:
    """x[start:end] = rows becomes x = rows, or x[:start] with rows behind: no copy of the first."""
    parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    last = parts[-1]
    if not isinstance(last, ast.Slice) or last.lower is None:
        return
    place, rows = ast.unparse(target.value), ast.unparse(node.value)
    start = ast.unparse(last.lower)
    before = ", ".join([":"] * (len(parts) - 1) + [f":{start}"])
    library = "torch" if isinstance(target.value, ast.Subscript) else "np"
    joined = f"{library}.concatenate([{place}[{before}], {rows}], {len(parts) - 1})"
    made = f"{place} = {rows} if {start} == 0 else {joined}"
    yield ast.copy_location(ast.parse(made).body[0], node)


def _calls(node: ast.AST) -> Iterator[ast.AST]:
    """A call that is left out: what it was made of stands in its place."""
    if not isinstance(node, ast.Call) or not node.args:
        return
    for i, each in enumerate(node.keywords):
        if each.arg == "dtype":
            yield _with(node, keywords=node.keywords[:i] + node.keywords[i + 1 :])
    if isinstance(node.func, ast.Attribute):
        owner = getattr(node.func.value, "id", "")
        if owner in ("np", "torch"):
            yield node.args[0]
        elif owner != "self":
            yield node.func.value
        elif len(node.args) == 1:
            yield node.args[0]


OPERATORS = (
    Operator("comparison", "n > C becomes n >= C", _comparisons),
    Operator("condition", "one half of a condition is left out; and becomes or", _links),
    Operator("check", "a check never or always fires, or the other way round", _conditions),
    Operator("one", "±1 on a bound, a count, a constant or a result", _off_by_one),
    Operator("count", "n += new becomes n = new, n -= new or n += 1", _counting),
    Operator("order", "two statements change places; a check comes last", _order),
    Operator("removed", "a statement, or all of a method, is left out", _removals),
    Operator("axis", "shape[1] becomes shape[0]; x[:, i] becomes x[i, :]", _axes),
    Operator("end", "x[:n] becomes x[n:], x[-n:] or x[:]; min becomes max", _ends),
    Operator("layer", "x[layer] becomes x[0]; layers share a buffer", _layers),
    Operator("pair", "k becomes v in one place", _pairs),
    Operator("sum", "a + b becomes a - b, a or b", _sums),
    Operator("copy", "the caller's array or a view is kept in the place of a copy", _copies),
    Operator("call", "f(x) becomes x", _calls),
)
