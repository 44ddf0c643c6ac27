"""`kvscope matrix`: what each fault does under each position scheme and policy."""

import argparse
import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker
from pathlib import Path

from app.cli_own import faults_on, known_faults
from app.cli_progress import Counter
from app.matrix_picture import picture_of
from app.matrix_table import csv_of, markdown_of, text_of
from app.standard_streams import INTERRUPTED, UNUSABLE
from core.errors import FaultError, TraceError
from core.faults.catalog import FAULTS
from core.matrix import DEFAULT_MODELS, measured, prompts_for, tasks_of
from core.matrix_cell import Cell, Task
from core.matrix_file import line_of, short_line_of, start_file
from core.readouts.words import plural
from core.spec import FaultUse
from core.whole_files import check_writable, replacing

DONE = 0


def matrix(arguments: argparse.Namespace) -> int:
    """Measure the cells, and print and write the table; the exit status.

    Raises:
        CoreError: input that cannot be used.
    """
    writers = _writers(arguments)
    for path in writers:
        check_writable(path)
    if arguments.fault_file and arguments.resume is not None:
        raise FaultError(
            "--fault-file with --resume: what was measured is kept by the id of a fault, and the "
            "file can change; leave --resume out"
        )
    tasks = tasks_of(
        _fault_ids(arguments),
        arguments.model or DEFAULT_MODELS,
        arguments.policy,
        arguments.prompts,
        arguments.seed,
        arguments.fault_file,
    )
    done = {_key(cell): cell for cell in _known(arguments.resume, tasks)}
    rest = [task for task in tasks if _key(task) not in done]
    try:
        for cell in _measured(rest, arguments.jobs, len(tasks), arguments.resume):
            done[_key(cell)] = cell
    except KeyboardInterrupt:
        sys.stderr.write(f"kvscope: {_how_to_go_on(arguments.resume, len(done), len(tasks))}\n")
        return INTERRUPTED
    cells = [done[_key(task)] for task in tasks]
    _print(cells, arguments.prompts, as_json=arguments.json)
    for path, write in writers.items():
        with replacing(path) as temporary:
            temporary.write_text(write(cells, arguments.prompts), encoding="utf-8")
    return _tell_broken(cells)


def _tell_broken(cells: Sequence[Cell]) -> int:
    """A line for each fault whose function cannot be used; the exit status."""
    broken = [cell for cell in cells if cell.is_broken]
    for fault in dict.fromkeys(cell.fault for cell in broken):
        of_it = [cell for cell in broken if cell.fault == fault]
        n = plural(len(of_it), "cell")
        sys.stderr.write(f"kvscope: {fault}: {n} not measured: {of_it[0].why_not}\n")
    return UNUSABLE if broken else DONE


def _fault_ids(arguments: argparse.Namespace) -> list[str]:
    """What was named, and all of one's own files; without either, all of the program's."""
    known = known_faults(arguments.fault_file)
    named = [_whole(name) for name in arguments.fault]
    return [use.id for use in faults_on(named, known)] or [fault.id for fault in FAULTS]


def _whole(name: str) -> FaultUse:
    """A fault that acts in every step and layer, as the cells are measured."""
    fault_id = name.split("@")[0].split(":")[0]
    if name != fault_id:
        raise FaultError(
            f"--fault {name}: every cell is measured with the fault on in all steps and layers; "
            f"leave {name.removeprefix(fault_id)} out: --fault {fault_id}"
        )
    return FaultUse(fault_id)


def _writers(arguments: argparse.Namespace) -> dict[Path, Callable[[Sequence[Cell], int], str]]:
    """What is to be written into which file."""
    picture: Path | None = arguments.picture
    if picture is not None and picture.suffix.lower() != ".svg":
        raise TraceError(f"--picture {picture}: the picture is an SVG; give a name with .svg")
    found: dict[Path, Callable[[Sequence[Cell], int], str]] = {}
    if arguments.csv is not None:
        found[arguments.csv] = lambda cells, n: csv_of(cells)
    if arguments.markdown is not None:
        found[arguments.markdown] = markdown_of
    if picture is not None:
        found[picture] = picture_of
    return found


def _key(of: Task | Cell) -> tuple[str, str, str]:
    return of.fault, of.model, of.policy


def _known(path: Path | None, tasks: Sequence[Task]) -> Sequence[Cell]:
    """What a file has already; it is begun, with the prompts, where it is not there."""
    if path is None:
        return ()
    any_of = {task.model: task for task in tasks}
    prompts = {model: prompts_for(task) for model, task in any_of.items()}
    return start_file(path, tasks[0].n_prompts, tasks[0].seed, prompts)


def _how_to_go_on(path: Path | None, n_done: int, n: int) -> str:
    if path is None:
        return f"stopped after {n_done} of {n} cells; with --resume FILE they would be kept"
    return f"stopped after {n_done} of {n} cells; they stand in {path}, the same command goes on"


def _measured(tasks: Sequence[Task], jobs: int, n: int, path: Path | None) -> Iterator[Cell]:
    """The cells as they are finished, each kept in the file at once."""
    counter = Counter("matrix: cell", n, n - len(tasks))
    with _appending(path) as keep, _finished(tasks, jobs) as cells:
        for cell in cells:
            keep(cell)
            counter.next()
            yield cell
    counter.done()


@contextmanager
def _appending(path: Path | None) -> Iterator[Callable[[Cell], None]]:
    if path is None:
        yield lambda cell: None
        return
    with path.open("a", encoding="utf-8") as file:

        def keep(cell: Cell) -> None:
            file.write(f"{short_line_of(cell)}\n")
            file.flush()

        yield keep


@contextmanager
def _finished(tasks: Sequence[Task], jobs: int) -> Iterator[Iterable[Cell]]:
    """The cells, measured here or by processes; what has not begun is dropped on the way out.

    Ctrl+C, and what else asks to end, can reach all processes at once. The others leave it to this
    one from their first instruction on: they inherit that it is blocked.
    """
    n_processes = min(jobs, len(tasks))
    if n_processes <= 1:
        yield map(measured, tasks)
        return
    context = multiprocessing.get_context("spawn")
    with ExitStack() as stack:
        with _ends_blocked():
            pool = ProcessPoolExecutor(n_processes, mp_context=context, initializer=_leave_ctrl_c)
            stack.callback(pool.shutdown, wait=True, cancel_futures=True)
            futures: list[Future[Cell]] = [pool.submit(measured, task) for task in tasks]
        yield (future.result() for future in as_completed(futures))


@contextmanager
def _ends_blocked() -> Iterator[None]:
    """Where a system can block what asks to end; what comes meanwhile is heard afterwards.

    One that is heard while a process is begun would leave it half begun.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    ends = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    try:
        resource_tracker.ensure_running()  # inherits it too, and lets some through as it starts
        signal.pthread_sigmask(signal.SIG_BLOCK, ends)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _leave_ctrl_c() -> None:
    """Once the process is set up: Ctrl+C is ignored, also where it cannot be blocked.

    What else asks to end may end it now: a pool ends its processes so when one is lost.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGHUP})


def _print(cells: Sequence[Cell], n_prompts: int, *, as_json: bool) -> None:
    if not as_json:
        sys.stdout.write(text_of(cells, n_prompts))
        return
    for cell in cells:
        sys.stdout.write(f"{line_of(cell)}\n")
