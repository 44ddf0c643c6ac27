"""What a file of Python defines that can be checked, told from its text: nothing is run."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Literal

from core.contract.child.names import ADDERS
from core.contract.subject import NotDrivableError

Kind = Literal["class", "model"]
MODEL_LIBRARIES = ("torch", "transformers")


@dataclass(frozen=True, slots=True)
class Named:
    """Something that can be checked.

    Attributes:
        name: what the file calls it.
        kind: a cache class, or what makes a model (or is one).
        is_likely: whether it looks like one; else it is a class that may be one all the same.
    """

    name: str
    kind: Kind
    is_likely: bool = True


@dataclass(frozen=True, slots=True)
class SourceOf:
    """The text of a method.

    Attributes:
        first_line: its number in the file, from 1.
        text: its lines, as far to the left as they go.
    """

    first_line: int
    text: str


def names_in(path: Path) -> tuple[Named, ...]:
    """What a file has to offer, the likeliest first.

    Raises:
        NotDrivableError: it cannot be read, is no Python, or has nothing that can be checked.
    """
    tree = ast.parse(text_of(path))
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    found = [_of_class(node, classes) for node in classes.values()]
    found += _models(tree)
    if not found:
        raise NotDrivableError(f"{path.name} has no class and nothing that makes a model")
    return tuple(sorted(found, key=lambda named: (not named.is_likely, named.kind)))


def text_of(path: Path) -> str:
    """The text of a file of Python.

    Raises:
        NotDrivableError: it cannot be read, or is no Python.
    """
    try:
        text = path.read_text("utf-8")
        ast.parse(text)
    except OSError as error:
        raise NotDrivableError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise NotDrivableError(f"{path.name} is no text in UTF-8") from error
    except SyntaxError as error:
        where = path.name if error.lineno is None else f"{path.name}, line {error.lineno}"
        raise NotDrivableError(f"{where} is no Python: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise NotDrivableError(f"{path.name} is no Python: {error}") from error
    return text


def methods_of(
    text: str, name: str, methods: Sequence[str], line: int | None = None
) -> tuple[SourceOf, ...]:
    """Those methods of a class that stand in the file, of its bases too; in the order asked for.

    Where a line is given, the function that it stands in comes first.
    """
    tree = ast.parse(text)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    found: list[ast.FunctionDef] = []
    if line is not None:
        around = (node for node in ast.walk(tree) if _is_around(node, line))
        found += [node for node in around if isinstance(node, ast.FunctionDef)][-1:]
    for method in methods:
        node = next((node for node in _functions(name, classes) if node.name == method), None)
        if node is not None and node not in found:
            found.append(node)
    return tuple(_source(node, text.splitlines()) for node in found)


def class_source(text: str, name: str) -> SourceOf | None:
    """The whole text of a class; None: it does not stand in the file as a class."""
    nodes = (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
    node = next((node for node in nodes if node.name == name), None)
    return None if node is None else _source(node, text.splitlines())


def _is_around(node: ast.AST, line: int) -> bool:
    """Whether it is a function, and a line stands in it."""
    is_function = isinstance(node, ast.FunctionDef)
    return is_function and node.lineno <= line <= (node.end_lineno or node.lineno)


def _source(node: ast.FunctionDef | ast.ClassDef, lines: Sequence[str]) -> SourceOf:
    first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
    return SourceOf(first, dedent("\n".join(lines[first - 1 : node.end_lineno])))


def _functions(name: str, classes: dict[str, ast.ClassDef]) -> Iterator[ast.FunctionDef]:
    """Those of a class, then those of its bases."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        node = classes.get(waiting.pop(0))
        if node is None or node.name in seen:
            continue
        seen.add(node.name)
        yield from (part for part in node.body if isinstance(part, ast.FunctionDef))
        waiting += map(_last_name, node.bases)


def _of_class(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> Named:
    methods = {function.name for function in _functions(node.name, classes)}
    bases = [_last_name(base) for base in node.bases]
    is_module = "forward" in methods and not methods & set(ADDERS)
    if is_module or (bases == ["Module"] and not methods & set(ADDERS)):
        return Named(node.name, "model", is_likely=False)
    is_cache = bool(methods & set(ADDERS)) or any(base.endswith("Cache") for base in bases)
    return Named(node.name, "class", is_cache and not node.name.startswith("_"))


def _models(tree: ast.Module) -> Iterator[Named]:
    """Functions that take nothing and give something, and things made at once."""
    has_library = any(name in MODEL_LIBRARIES for name in _imported(tree))
    for node in tree.body:
        match node:
            case ast.FunctionDef() if not node.name.startswith("_") and _makes(node):
                if has_library or "model" in node.name.lower():
                    yield Named(node.name, "model")
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call()) if has_library:
                if "model" in name.lower():
                    yield Named(name, "model")
            case _:
                pass


def _makes(node: ast.FunctionDef) -> bool:
    """Whether it can be called without arguments, and gives something back."""
    given = node.args
    n_needed = len(given.posonlyargs) + len(given.args) - len(given.defaults)
    needs_names = any(default is None for default in given.kw_defaults)
    gives = any(isinstance(part, ast.Return) and part.value for part in ast.walk(node))
    return n_needed == 0 and not needs_names and gives


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def _last_name(node: ast.expr) -> str:
    """The name at the end of "transformers.Cache"; empty: it is none."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""
