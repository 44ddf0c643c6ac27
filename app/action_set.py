"""The Qt actions made from the list in `actions`, and their menus."""

from collections.abc import Callable, Iterable

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QIcon, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar

from app.action_spec import ActionSpec, Shell
from app.icons import icon
from app.situation import Situation
from app.theme import Theme

MENUS = ("File", "Edit", "Run", "View", "Window", "Help")


class ActionSet(QObject):
    """One QAction per ActionSpec, switched on and off with the situation."""

    def __init__(self, specs: Iterable[ActionSpec], shell: Shell, theme: Theme) -> None:
        """Make the actions; they act on `shell`."""
        super().__init__()
        self._specs = {spec.id: spec for spec in specs}
        self._whys = {spec.blocked for spec in self._specs.values()}
        self._shell = shell
        self._play_icons: dict[bool, QIcon] = {}
        self._reasons: dict[str, tuple[str | None, str | None]] = {}
        self._plays: bool | None = None
        self.actions = {spec.id: self._made(spec, shell) for spec in self._specs.values()}
        self.dress(theme)

    def dress(self, theme: Theme) -> None:
        """Draw the icons in the colours of a theme."""
        self._play_icons = {False: icon("play", theme), True: icon("pause", theme)}
        self._plays = None
        for action_id, spec in self._specs.items():
            if spec.icon is not None:
                self.actions[action_id].setIcon(icon(spec.icon, theme))

    @property
    def specs(self) -> tuple[ActionSpec, ...]:
        """What the actions are made from, in the order of the menus."""
        return tuple(self._specs.values())

    def update(self, situation: Situation) -> None:
        """Switch each action on, or off with its reason in the tooltip."""
        blocked = {why: why(situation) for why in self._whys}  # many have the same
        for action_id, spec in self._specs.items():
            note = None if spec.note is None else spec.note(situation)
            self._switch(spec, blocked[spec.blocked], note)
            if spec.words is not None:
                self.actions[action_id].setText(spec.words(situation))
            if spec.is_on is not None:
                self.actions[action_id].setChecked(spec.is_on(self._shell))
        self._show_play(is_playing=situation.is_playing)

    def fill(self, bar: QMenuBar) -> dict[str, QMenu]:
        """Make the menus; gives them by name."""
        used = {spec.menu.partition("/")[0] for spec in self._specs.values()}
        menus = {name: bar.addMenu(f"&{name}") for name in MENUS if name in used}
        for action_id, spec in self._specs.items():
            if spec.menu not in menus:
                parent, _, name = spec.menu.partition("/")
                menus[spec.menu] = menus[parent].addMenu(name)
            menus[spec.menu].addAction(self.actions[action_id])
        for menu in menus.values():
            menu.setToolTipsVisible(True)
        return menus

    def _switch(self, spec: ActionSpec, reason: str | None, note: str | None) -> None:
        """Only where something changes: whatever shows the action is arranged anew."""
        if self._reasons.get(spec.id, ()) != (reason, note):
            self._reasons[spec.id] = (reason, note)
            self.actions[spec.id].setEnabled(reason is None)
            tip = _tooltip(spec, reason)
            self.actions[spec.id].setToolTip(tip if note is None or reason else f"{tip}\n{note}")

    def _show_play(self, *, is_playing: bool) -> None:
        if is_playing != self._plays:
            self._plays = is_playing
            self.actions["play"].setText("Pause" if is_playing else "Play")
            self.actions["play"].setIcon(self._play_icons[is_playing])

    def _made(self, spec: ActionSpec, shell: Shell) -> QAction:
        action = QAction(spec.text, self)
        action.setObjectName(f"action-{spec.id}")
        action.setShortcuts([QKeySequence(key) for key in (*spec.keys, *spec.soft_keys)])
        action.setData(spec.label)
        action.setCheckable(spec.is_on is not None)
        action.triggered.connect(_caller(spec.run, shell))
        return action


def _caller(run: Callable[[Shell], None], shell: Shell) -> Callable[[], None]:
    return lambda: run(shell)


def _tooltip(spec: ActionSpec, reason: str | None) -> str:
    keys = ", ".join(
        QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)
        for key in (*spec.keys, *spec.soft_keys)
    )
    first = f"{spec.text}  ({keys})" if keys else spec.text
    return f"{first}\n{spec.tooltip}" if reason is None else f"{first}\nNot now: {reason}"
