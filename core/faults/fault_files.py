"""Loads faults of one's own from a file of Python, which runs it: only ever because a person asked.

Opening a trace never comes here: a trace names a file, and `KnownFaults` says if it is loaded.
"""

import contextlib
import hashlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import ExecutionLoader
from pathlib import Path
from types import ModuleType
from typing import cast

from core.errors import FaultError
from core.faults.catalog import COMBINATIONS, FAULTS
from core.faults.fault import Fault
from core.faults.function_source import OwnCode, source_of
from core.faults.guard import Where, last_line
from core.faults.known import BUILT_IN, KnownFaults, LoadedFault
from core.faults.own import OwnFault, check_function, check_id
from core.spec import FaultFile


def known_with(files: Sequence[Path]) -> KnownFaults:
    """The faults of the program, and those of these files, which are run.

    Raises:
        FaultError: a file that cannot be used, or two of one id.
    """
    known = BUILT_IN
    for file in files:
        known = known.with_file(load_fault_file(file))
    return known


def load_fault_file(path: Path) -> tuple[LoadedFault, ...]:
    """Run a file and give the faults that it defines: its `FAULT`, or its `FAULTS`.

    Raises:
        FaultError: no such file, no Python, it raises, or what it defines is no fault that can be
            used; one line that names the file.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FaultError(
            f"{path} cannot be read: {error.strerror}; give a file of Python"
        ) from None
    file = FaultFile(path.name, hashlib.sha256(data).hexdigest())
    loader = _Text(f"<{file.digest}>/{path.name}", _decoded(path, data))
    module = _run(path, file, loader)
    faults = _defined(path, module)
    made = tuple(_loaded(path, file, loader.file, fault) for fault in faults)
    ids = [fault.id for fault in made]
    if len(set(ids)) < len(ids):
        raise FaultError(f"{path} has two faults of one id among {', '.join(ids)}")
    return made


class _Text(ExecutionLoader):
    """Runs a text that was read once: what is shown later is what ran, however the file changes.

    Its code knows the file by a name that no file has, which holds the digest.
    """

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self._text = text

    def get_source(self, fullname: str) -> str:
        """The text."""
        return self._text

    def get_filename(self, fullname: str) -> str:
        """The name in tracebacks and of the code."""
        return self.file

    def is_package(self, fullname: str) -> bool:
        """It is none."""
        return False


def _decoded(path: Path, data: bytes) -> str:
    try:
        return importlib.util.decode_source(data)
    except (SyntaxError, UnicodeDecodeError) as error:
        raise FaultError(f"{path} is not Python: {error}") from None


def _run(path: Path, file: FaultFile, loader: _Text) -> ModuleType:
    """The module of a file. What it prints goes to standard error, out of the way of JSON."""
    name = f"kvscope_fault_{file.digest}"
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None  # noqa: S101  (None only without a loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # the standard library looks modules up there, dataclasses for one
    try:
        with contextlib.redirect_stdout(sys.stderr):
            loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise FaultError(_why_not(path, loader.file, error)) from error
    return module


def _why_not(path: Path, code_name: str, error: BaseException) -> str:
    line = last_line(error.__traceback__, code_name)
    if isinstance(error, SyntaxError) and line is None:
        return f"{path} is not Python: line {error.lineno}: {error.msg}"
    if line is None:
        return f"{path} is not Python: {error}"
    if isinstance(error, FaultError):
        return f"{path}, line {line}: {error}"
    return f"{path}, line {line}: running it raised {type(error).__name__}: {error}"


def _defined(path: Path, module: ModuleType) -> tuple[OwnFault | Fault, ...]:
    one, several = (vars(module).get(name) for name in ("FAULT", "FAULTS"))
    if one is None and several is None:
        raise FaultError(
            f"{path} defines no FAULT; it must say FAULT = OwnFault(id=…, title=…, seam=…, "
            "function=…), or list several in FAULTS"
        )
    if several is not None and not isinstance(several, tuple | list):
        raise FaultError(f"{path}: FAULTS is {several!r:.60}; it must be a tuple of faults")
    given = [] if one is None else [one]
    given += cast("tuple[object, ...]", several or ())
    if not given:
        raise FaultError(f"{path}: FAULTS is empty; it must name at least one fault")
    return tuple(_checked(path, fault) for fault in given)


def _checked(path: Path, fault: object) -> OwnFault | Fault:
    if not isinstance(fault, OwnFault | Fault):
        raise FaultError(
            f"{path}: FAULT is {fault!r:.60}, a {type(fault).__name__}; it must be an OwnFault"
        )
    try:
        check_id(fault.id)
        check_function(fault.id, fault.seam, getattr(fault.patch, fault.seam))
    except FaultError as error:
        raise FaultError(f"{path}: {error}") from None
    if fault.id in {*(ours.id for ours in FAULTS), *COMBINATIONS}:
        raise FaultError(f"{path}: id {fault.id!r} is one of kvscope's own; choose another one")
    return fault


def _loaded(path: Path, file: FaultFile, code_name: str, fault: OwnFault | Fault) -> LoadedFault:
    source = source_of(getattr(fault.patch, fault.seam))
    code = OwnCode(fault.id, fault.title, fault.seam, file, source)
    where = Where(path.name, code_name, source.line, fault.seam)
    return LoadedFault(fault, path.resolve(), code, where)
