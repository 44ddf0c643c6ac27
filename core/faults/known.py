"""Which faults there are: the program's own, and those loaded from files. A value, passed along."""

from dataclasses import dataclass, replace
from pathlib import Path

from core.engine.seams import CORRECT, Seams
from core.errors import FaultError
from core.faults.catalog import COMBINATIONS, FAULTS, find_faults
from core.faults.fault import Fault, Scenario
from core.faults.function_source import OwnCode
from core.faults.guard import Where, guarded
from core.faults.own import OwnFault
from core.spec import FaultUse


@dataclass(frozen=True, slots=True, eq=False)
class LoadedFault:
    """A fault from a file that was run because a person asked for it.

    Attributes:
        fault: as the file has it.
        path: of the file.
        code: what is shown of it.
        where: where its function stands, for messages.
    """

    fault: OwnFault | Fault
    path: Path
    code: OwnCode
    where: Where

    @property
    def id(self) -> str:
        """Its name."""
        return self.fault.id

    @property
    def title(self) -> str:
        """One line, in the field's words."""
        return self.fault.title

    @property
    def symptom(self) -> str:
        """What a person sees; empty: nothing is said."""
        return self.fault.symptom

    @property
    def seam(self) -> str:
        """Name of the seam that is wrong."""
        return self.fault.seam

    @property
    def shows_in(self) -> Scenario:
        """The run that shows it."""
        return self.fault.shows_in

    @property
    def patch(self) -> Seams:
        """The correct table with its function, whose answers are looked at before they are used."""
        function = getattr(self.fault.patch, self.seam)
        return replace(CORRECT, **{self.seam: guarded(function, self.where)})


@dataclass(frozen=True, slots=True, eq=False)
class KnownFaults:
    """The faults of the program and those of one's own.

    Attributes:
        loaded: all that were loaded, a file that was loaded again with both of its texts: a run
            that was made with the first one can still be made again.
        own: those that can be switched on now.
    """

    loaded: tuple[LoadedFault, ...] = ()
    own: tuple[LoadedFault, ...] = ()

    def with_file(self, faults: tuple[LoadedFault, ...]) -> "KnownFaults":
        """These, and the faults of a file; they take the place of what it held before.

        Raises:
            FaultError: an id that another file has already.
        """
        paths = {fault.path for fault in faults}
        others = tuple(fault for fault in self.own if fault.path not in paths)
        for fault in faults:
            for other in others:
                if other.id == fault.id:
                    raise FaultError(
                        f"{fault.path.name}: id {fault.id!r} stands in {other.path} already; "
                        "choose another one"
                    )
        before = {(fault.id, fault.code.file) for fault in self.loaded}
        new = (fault for fault in faults if (fault.id, fault.code.file) not in before)
        return KnownFaults((*self.loaded, *new), (*others, *faults))

    def find(self, name: str) -> tuple[Fault | LoadedFault, ...]:
        """The fault with this id that can be switched on, or those of a combination.

        Raises:
            FaultError: there is none; the message names all.
        """
        found = tuple(fault for fault in self.own if fault.id == name)
        if found:
            return found
        known = {*(fault.id for fault in FAULTS), *COMBINATIONS}
        if self.own and name not in known:
            mine = ", ".join(fault.id for fault in self.own)
            raise FaultError(
                f"fault {name!r} is not known; of your own there are {mine}; kvscope faults lists "
                "the others"
            )
        return find_faults(name)

    def use(self, name: str) -> FaultUse:
        """The fault with this id, on at every step in every layer."""
        found = next((fault for fault in self.own if fault.id == name), None)
        return FaultUse(name, file=None if found is None else found.code.file)

    def with_files(self, uses: tuple[FaultUse, ...]) -> tuple[FaultUse, ...]:
        """The same uses, each with the file that its id stands in now."""
        return tuple(replace(use, file=self.use(use.id).file) for use in uses)

    def of(self, use: FaultUse) -> tuple[Fault | LoadedFault, ...]:
        """What a run of this use asks: the very text that it names, if it names a file.

        Raises:
            FaultError: no such fault, or its file is not loaded.
        """
        if use.file is None:
            return find_faults(use.id)
        for fault in self.loaded:
            if (fault.id, fault.code.file) == (use.id, use.file):
                return (fault,)
        name = use.file.name
        is_other = any(fault.code.file.name == name for fault in self.loaded)
        raise FaultError(
            f"this run used the fault {use.id!r} from {name!r}, which is not loaded"
            f"{' as it was then' if is_other else ''}; load that file first (--fault-file FILE.py, "
            "or Load fault… in the window)"
        )

    def own_of(self, uses: tuple[FaultUse, ...]) -> tuple[LoadedFault, ...]:
        """Those of the uses that come from files.

        Raises:
            FaultError: no such fault, or its file is not loaded.
        """
        found = (fault for use in uses for fault in self.of(use))
        return tuple(fault for fault in found if isinstance(fault, LoadedFault))

    @property
    def codes(self) -> tuple[OwnCode, ...]:
        """What is shown of all that were loaded."""
        return tuple(fault.code for fault in self.loaded)


BUILT_IN = KnownFaults()
"""Those of the program alone."""
