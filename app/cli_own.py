"""The faults of one's own that a command line names, loaded from their files."""

from collections.abc import Sequence
from pathlib import Path

from core.faults.known import BUILT_IN, KnownFaults
from core.spec import FaultUse


def known_faults(files: Sequence[Path]) -> KnownFaults:
    """The faults of the program, and those of these files, which are run.

    Raises:
        FaultError: a file that cannot be used, or two of one id.
    """
    if not files:
        return BUILT_IN
    from core.faults.fault_files import known_with  # here: few ever need it

    return known_with(files)


def faults_on(named: Sequence[FaultUse], known: KnownFaults) -> tuple[FaultUse, ...]:
    """What is switched on: what was named, and all faults of a file of which none was named.

    Raises:
        FaultError: a name is not known.
    """
    members = {fault.id for use in named for fault in known.find(use.id)}
    paths = {fault.path for fault in known.own if fault.id in members}
    unnamed = (known.use(fault.id) for fault in known.own if fault.path not in paths)
    return (*known.with_files(tuple(named)), *unnamed)
