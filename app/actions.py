"""Every command of the window as data; menus, tool bar, palette and key sheet are made from it."""

from app.action_spec import ActionSpec
from app.run_actions import RUN_ACTIONS
from app.undo_actions import UNDO_ACTIONS
from app.window_actions import FILE_ACTIONS, HELP_ACTIONS, VIEW_ACTIONS, WINDOW_ACTIONS

ACTIONS: tuple[ActionSpec, ...] = (
    *FILE_ACTIONS,
    *UNDO_ACTIONS,
    *RUN_ACTIONS,
    *VIEW_ACTIONS,
    *WINDOW_ACTIONS,
    *HELP_ACTIONS,
)
