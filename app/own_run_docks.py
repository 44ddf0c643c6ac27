"""The panels of a run of somebody's class: those of any run, but for its code and its rule."""

from dataclasses import replace
from html import escape
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QWidget

from app.docks.registry import DOCKS, DockSpec
from app.own_run import OwnRun
from app.theme import Theme
from app.views.next_token import NextTokenView
from core.contract.run_plan import RunPlan
from core.readouts.run_view import RunView
from core.readouts.tokens import TokensReadout, tokens_readout

LEFT_OUT = ("code", "lesson", "runs")
"""Panels about our own engine, or about runs beside this one."""
CODE_PX, RULE_PX = 110, 90


class _ReadOnlyNextToken(NextTokenView):
    """No token can be forced: the run is over."""

    def offer_forcing(self) -> None:
        """Say nothing of it."""


def _tokens(view: RunView) -> TokensReadout:
    """Without a clean run: what is read is given, whatever the model would say."""
    return replace(tokens_readout(view), clean_note="none: what is read is given")


def run_docks() -> tuple[DockSpec, ...]:
    """Those that show readouts; what they infer is said in their titles."""
    changes: dict[str, dict[str, Any]] = {
        "tokens": {"readout": _tokens},
        "cache": {"title": "Cache, inferred"},
        "next-token": {"build": _ReadOnlyNextToken},
    }
    return tuple(
        replace(spec, **changes.get(spec.id, {})) for spec in DOCKS if spec.id not in LEFT_OUT
    )


class RuleText(QScrollArea):
    """What is wrong with the class, what it raised in the step looked at, and the repair."""

    def __init__(self, theme: Theme) -> None:
        """Empty."""
        super().__init__()
        self._theme = theme
        self._run: OwnRun | None = None
        self._step = 0
        self.label = QLabel()
        self.label.setWordWrap(True)
        self.label.setTextFormat(Qt.TextFormat.RichText)
        self.label.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.label.setAccessibleName("The rule")
        self.label.setBackgroundRole(QPalette.ColorRole.Base)
        self.label.setAutoFillBackground(True)
        self.setWidget(self.label)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Rule")
        self.dress(theme)

    def show_step(self, run: OwnRun, step: int) -> None:
        """Show the rule behind a run, and what the class raised in a step."""
        self._run, self._step = run, step
        self.label.setText(self._html(run, step))

    def dress(self, theme: Theme) -> None:
        """Show in another theme."""
        self._theme = theme
        self.label.setFont(theme.sans())
        self.label.setMargin(theme.margin_px)
        if self._run is not None:
            self.show_step(self._run, self._step)

    def _html(self, run: OwnRun, step: int) -> str:
        row, theme = run.wish.row, self._theme
        said = run.said.get(step, "")
        number = "" if row.number is None else f"Rule {row.number}: {row.title}"
        parts = [
            f"<p><b>{escape(row.mechanism or row.title)}</b></p>",
            _titled("", number, theme),
            _titled(f"In step {step} it raises", said, theme),
            _titled("Expected", row.expected, theme),
            _titled("Found", row.found, theme),
            _titled("Repair", row.repair, theme),
            *(_titled("", words, theme) for words in row.evidence),
            _titled("", _more(row.run), theme),
            _titled("", run.ended, theme),
        ]
        return "".join(parts)


def _more(run: RunPlan | None) -> str:
    """What was added to the sequence, and why."""
    if run is None or not run.n_more:
        return ""
    n = [act.n for act in run.acts[-run.n_more :]]
    singles = f", then {len(n) - 1} one by one" if len(n) > 1 else ""
    return (
        "The sequence reads no token, and a model shows nothing before it has read one: it goes on "
        f"with {n[0]} token{'s' * (n[0] != 1)}{singles}."
    )


def _titled(title: str, text: str, theme: Theme) -> str:
    """A paragraph below its title; nothing where there is no text."""
    if not text:
        return ""
    head = f'<span style="color: {theme.dim.name()}">{escape(title)}</span><br>' if title else ""
    return f"<p>{head}{escape(text)}</p>"


def placed(widget: QWidget, theme: Theme, least_px: int) -> QWidget:
    """The widget with the least height that a panel of its kind has."""
    widget.setMinimumHeight(theme.px(least_px))
    return widget
