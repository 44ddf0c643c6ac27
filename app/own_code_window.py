"""Somebody's code in a window of its own: what is wrong with it, and again whenever it is saved.

More than 300 lines: it joins file, process, list and detail, and has no other work.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from PySide6.QtCore import QModelIndex, QSignalBlocker, QSize, Qt, Signal, Slot
from PySide6.QtGui import QCloseEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from app.own_code_account import Account, Change, summary, why_no_tests
from app.own_code_ask import AskToRun, fill_names
from app.own_code_check import OwnCheck
from app.own_code_list import lines_of
from app.own_code_parts import OwnCodeParts
from app.own_code_takeaway import copy_command, write_tests
from app.own_code_target import Target
from app.own_code_trust import Trust
from app.own_code_watch import FileWatch
from app.own_run import RunWish
from app.theme import Theme
from core.contract.names_in_file import Named, methods_of, text_of
from core.contract.own_report import Row
from core.errors import CoreError

FIRST_SIZE, FRAME_SIZE = QSize(1120, 720), QSize(16, 48)
LEAST_SIZE = (640, 400)


class OwnCodeWindow(QWidget):
    """Checks one thing in one file at a time; the window of the run stays free meanwhile.

    Signals:
        began: a check begins.
        rested: no check runs any more.
        run_wanted: the id of a fault whose run is to be shown.
        panels_wanted: a `RunWish`, for a run of this class.

    Attributes:
        is_stale: whether what is shown is not what the last check was to find.
    """

    began = Signal()
    rested = Signal()
    run_wanted = Signal(str)
    panels_wanted = Signal(object)

    def __init__(self, theme: Theme, trust: Trust) -> None:
        """Takes what knows which files may be run."""
        super().__init__(None, Qt.WindowType.Window)
        self.setObjectName("own-code-window")
        self.setWindowTitle("Your code")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumSize(*LEAST_SIZE)
        self.resize(FIRST_SIZE.boundedTo(self.screen().availableSize() - FRAME_SIZE))
        self._trust = trust
        self._target = Target(Path(), Named("", "class"))
        self._text = ""
        self._shown: Row | None = None
        self.account = Account("class")
        self._is_chosen = self._is_placing = False
        self.is_stale = True
        self._check: OwnCheck | None = None
        self._leaving: list[OwnCheck] = []
        self._watch = FileWatch(self)
        self.parts = OwnCodeParts(self, theme)
        self._connect()

    @property
    def is_checking(self) -> bool:
        """Whether a check runs now."""
        return self._check is not None

    def open_code(self, path: Path, names: Sequence[Named], chosen: Named) -> None:
        """Check something in a file; whoever asks knows that it may be run."""
        self._target = Target(path, chosen)
        self.parts.form.forget()
        self._show_names(names)
        self._forget()
        self.start()

    def dress(self, theme: Theme) -> None:
        """Show in another theme."""
        self.parts.dress(theme)

    @Slot()
    def start(self) -> None:
        """Check the file as it is now; a check that runs is left for it."""
        self._leave_check()
        self.is_stale = True
        self.parts.form.complain("")
        wishes = self.parts.form.wishes
        if not self._may_run_adapter(wishes.adapter):
            return
        files = self._target.files(wishes)
        self._watch.watch(files)
        try:
            self._text = text_of(self._target.path)
            self._target, names = self._target.as_it_is_now()
            self._show_names(names)
            ask = self._target.ask(wishes)
        except CoreError as error:
            self._say_wrong(str(error))
            self.rested.emit()
            return
        for file in files:
            self._trust.note_run(file)
        self._check = OwnCheck(self)
        self._check.told.connect(self._on_told)
        self._check.ended.connect(self._on_ended)
        self.account.begin()
        self.parts.show_checking(self.account)
        self.began.emit()
        self._check.start(ask)

    def wish_of(self, row: Row) -> RunWish | None:
        """A run of what is checked now, with the calls of a row; None: what was said does not fit.

        It runs what was run to be checked.
        """
        try:
            ask = self._target.ask(self.parts.form.wishes)
        except CoreError as error:
            self.parts.form.complain(str(error))
            return None
        return RunWish(row, self._target.path.name, self._target.named.name, self._text, ask)

    def wish_again(self, wish: RunWish) -> RunWish | None:
        """The same run of the file as it was checked last; None: that is another thing, or none.

        Where a rule has another sequence now, that; where it holds, or has none, the same calls.
        """
        report, ask = self.account.report, wish.ask
        named = self._target.named.name
        if report is None or (ask["path"], ask["name"]) != (str(self._target.path), named):
            return None
        rows = (*report.findings, *report.rows)
        row = next((row for row in rows if row.key == wish.row.key), wish.row)
        if row.run is None and row.reading is None:
            row = replace(row, run=wish.row.run, reading=wish.row.reading)
        return self.wish_of(row)

    @Slot()
    def cancel(self) -> None:
        """Leave the check that runs; what was shown before it stays."""
        if self._check is not None:
            self._leave_check()
            is_first = self.account.report is None
            shown = "what is shown is not complete" if is_first else "the list is as before"
            self.parts.show_rest(f"cancelled; {shown}")
            self.parts.list.setFocus()
            self.rested.emit()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Nothing that was started goes on."""
        self._watch.stop()
        self._leave_check()
        for check in tuple(self._leaving):
            check.wait()
        super().closeEvent(event)

    def _connect(self) -> None:
        parts = self.parts
        self._watch.changed.connect(self._on_saved)
        parts.again.clicked.connect(self.start)
        parts.cancel.clicked.connect(self.cancel)
        parts.copy.clicked.connect(self._copy_command)
        parts.tests.clicked.connect(self._write_tests)
        parts.names.currentIndexChanged.connect(self._on_name)
        parts.form.edited.connect(self.start)
        parts.detail.run_wanted.connect(self.run_wanted)
        parts.detail.panels_wanted.connect(self._want_panels)
        parts.list.selectionModel().currentChanged.connect(self._on_chosen)
        QShortcut(QKeySequence(Qt.Key.Key_Escape), self, self._escape)
        QShortcut(QKeySequence("Ctrl+W"), self, self.close)
        QShortcut(QKeySequence("F5"), self, self.start)

    # What is checked.

    def _may_run_adapter(self, adapter: Path | None) -> bool:
        if adapter is None or self._trust.may_run(adapter):
            return True
        if self.findChild(AskToRun) is not None:
            return False  # that is asked already
        dialog = AskToRun(self, adapter, ())
        dialog.accepted.connect(lambda: self._take_adapter(adapter))
        dialog.rejected.connect(self.parts.form.drop_adapter)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        return False

    def _take_adapter(self, adapter: Path) -> None:
        self._trust.trust(adapter)
        self.start()

    def _show_names(self, names: Sequence[Named]) -> None:
        blocked = QSignalBlocker(self.parts.names)
        fill_names(self.parts.names, names)
        self.parts.names.setCurrentIndex(list(names).index(self._target.named))
        blocked.unblock()
        self.parts.form.show_kind(self._target.named.kind)
        self.parts.show_file(self._target.path)
        self.setWindowTitle(f"Your code, {self._target.path.name}")

    @Slot(int)
    def _on_name(self, place: int) -> None:
        named = self.parts.names.itemData(place)
        if isinstance(named, Named):
            self._target = Target(self._target.path, named)
            self.parts.form.forget()
            self.parts.form.show_kind(named.kind)
            self._forget()
            self.start()

    @Slot()
    def _on_saved(self) -> None:
        self.start()
        if self.is_checking:
            self.account.words = "the file changed: checking again…"
            self.parts.show_checking(self.account)

    # What the checker tells.

    @Slot(object)
    def _on_told(self, told: Mapping[str, Any]) -> None:
        changed: Change = self.account.take(told)
        match changed:
            case "about":
                self.parts.about.set_full_text(self.account.about)
            case "progress":
                self.parts.show_checking(self.account)
            case "rows":
                self._show_rows()
            case "report":
                self._show_report()
            case "cannot":
                self._say_cannot()
            case "nothing":
                pass

    def _show_report(self) -> None:
        report, kind = self.account.report, self.account.kind
        assert report is not None  # noqa: S101  (it was just taken)
        self.is_stale = False
        self.parts.about.set_full_text(report.about)
        self._show_rows()
        self.parts.show_notes(report.notes)
        time = f"{datetime.now().astimezone():%H:%M:%S}"
        words = f"{summary(report, kind)} · checked at {time}"
        self.parts.show_rest(words, is_wrong=bool(report.findings), is_right=not report.findings)
        self.parts.offer_tests(why_no_tests(report, kind))

    def _say_cannot(self) -> None:
        """What is missing stands beside the field that can say it."""
        self.parts.form.complain(self.account.words)
        self.parts.options.setChecked(True)
        self._say_wrong(f"the {self.account.kind} cannot be driven; why is said above")

    def _say_wrong(self, words: str) -> None:
        before = "" if self.account.report is None else "; the list is as before"
        self.parts.show_rest(f"{words}{before}", is_wrong=True)

    @Slot(str)
    def _on_ended(self, why: str) -> None:
        self._check = None
        if why:
            self._say_wrong(why)
        self.rested.emit()

    def _leave_check(self) -> None:
        check, self._check = self._check, None
        if check is not None:
            self._leaving.append(check)
            check.left.connect(self._forget_left)
            check.stop()

    @Slot()
    def _forget_left(self) -> None:
        self._leaving = [check for check in self._leaving if check is not self.sender()]

    # What is shown.

    def _forget(self) -> None:
        """Another thing is checked: nothing is known of it."""
        self.account, self._is_chosen = Account(self._target.named.kind), False
        self.parts.about.set_full_text("")
        self._show_rows()
        self.parts.show_notes(())
        self.parts.offer_tests("nothing was checked yet")

    def _show_rows(self) -> None:
        """The lines; what was chosen stays chosen, as a rule where it is no finding any more."""
        listed, model = self.parts.list, self.parts.model
        current = listed.currentIndex()
        row, was_finding = model.row_at(current), model.is_finding_at(current)
        report, rows = self.account.report, tuple(self.account.rows.values())
        title = "Rules" if self.account.kind == "class" else "Ways of reading a text"
        self._is_placing = True
        model.show_lines(lines_of(() if report is None else report.findings, rows, title))
        place = QModelIndex()
        if row is not None and self._is_chosen:
            places = (model.place_of(row.key, is_finding=part) for part in (was_finding, False))
            place = next(filter(QModelIndex.isValid, places), place)
        listed.setCurrentIndex(place if place.isValid() else model.first())
        self._is_placing = False
        self._show_detail()

    @Slot(QModelIndex)
    def _on_chosen(self) -> None:
        if not self._is_placing:
            self._is_chosen = True
            self._show_detail()

    def _show_detail(self) -> None:
        row = self.parts.model.row_at(self.parts.list.currentIndex())
        if row is not None and row is self._shown:
            return
        self._shown = row
        if row is None:
            self.parts.detail.show_row(None, ())
            return
        line = row.broken_line(self._target.path.name)
        sources = methods_of(self._text, self._target.named.name, row.methods, line)
        self.parts.detail.show_row(row, sources, line)

    # What a person does.

    @Slot(object)
    def _want_panels(self, row: Row) -> None:
        wish = self.wish_of(row)
        if wish is not None:
            self.panels_wanted.emit(wish)

    @Slot()
    def _escape(self) -> None:
        if self.is_checking:
            self.cancel()
        else:
            self.close()

    @Slot()
    def _copy_command(self) -> None:
        options = self.parts.form.wishes.options(self._target.named.kind)
        copy_command(self._target.path, self._target.named.name, options)

    @Slot()
    def _write_tests(self) -> None:
        report = self.account.report
        if report is not None and report.tests is not None:
            usual = self._target.path.with_name(f"test_{self._target.path.stem}.py")
            said = write_tests(self, usual, report.tests)
            if said is not None:
                self.parts.show_rest(said)
