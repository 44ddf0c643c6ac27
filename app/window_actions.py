"""The commands about files, looks, the arrangement of the panels, and help."""

from app import reasons
from app.action_spec import ActionSpec
from app.layout import LAYOUTS, LayoutName
from app.theme import ThemeName

FILE_ACTIONS: tuple[ActionSpec, ...] = (
    ActionSpec(
        id="open",
        text="Open trace…",
        menu="File",
        tooltip="Open a .kvtrace: the run is made again and compared",
        run=lambda shell: shell.files.open(),
        blocked=reasons.not_ready,
        keys=("Ctrl+O",),
    ),
    ActionSpec(
        id="save",
        text="Save trace…",
        menu="File",
        tooltip="Save this run, as a specification or with all its numbers",
        run=lambda shell: shell.files.save(),
        blocked=reasons.cannot_save,
        keys=("Ctrl+S",),
    ),
    ActionSpec(
        id="open-code",
        text="Open my code…",
        menu="File",
        tooltip="Check a cache class or a model of your own; you are asked before it is run",
        run=lambda shell: shell.aids.open_code(shell.looks),
        blocked=reasons.never,
        keys=("Ctrl+Shift+O",),
    ),
    ActionSpec(
        id="load-fault",
        text="Load fault…",
        menu="File",
        tooltip="Run a file of Python of your own, and list its faults under Your own",
        run=lambda shell: shell.files.load_faults(),
        blocked=reasons.never,
    ),
    ActionSpec(
        id="export",
        text="Export view as PNG…",
        menu="File",
        tooltip="Save a picture of the panel used last, at its own or at twice its size",
        run=lambda shell: shell.files.export_view(),
        blocked=reasons.never,
        keys=("Ctrl+Shift+E",),
    ),
    ActionSpec(
        id="quit",
        text="Quit",
        menu="File",
        tooltip="Close the window; its layout is kept",
        run=lambda shell: shell.leave(),
        blocked=reasons.never,
        keys=("Ctrl+Q",),
    ),
    ActionSpec(
        id="copy-view",
        text="Copy view as image",
        menu="Edit",
        tooltip="Put a picture of the panel used last on the clipboard",
        run=lambda shell: shell.files.copy_view(),
        blocked=reasons.never,
        keys=("Ctrl+Shift+C",),
    ),
)


def _theme(name: ThemeName, text: str, tooltip: str) -> ActionSpec:
    return ActionSpec(
        id=f"theme-{name}",
        text=text,
        menu="View/Theme",
        tooltip=tooltip,
        run=lambda shell: shell.looks.choose_theme(name),
        blocked=reasons.never,
        is_on=lambda shell: shell.looks.theme_name == name,
    )


VIEW_ACTIONS: tuple[ActionSpec, ...] = (
    ActionSpec(
        id="palette",
        text="Commands…",
        menu="View",
        tooltip="Search all commands by their words",
        run=lambda shell: shell.aids.show_palette(),
        blocked=reasons.never,
        keys=("Ctrl+Shift+P",),
    ),
    _theme("light", "Light", "Dark letters on light paper"),
    _theme("dark", "Dark", "Light letters on dark paper"),
    _theme("system", "As the desktop", "Follow the desktop, also when it changes"),
    ActionSpec(
        id="text-larger",
        text="Larger",
        menu="View/Text size",
        tooltip="Larger letters and numbers, up to 200 %",
        run=lambda shell: shell.looks.larger_text(),
        blocked=reasons.never,
        keys=("Ctrl++", "Ctrl+="),
    ),
    ActionSpec(
        id="text-smaller",
        text="Smaller",
        menu="View/Text size",
        tooltip="Smaller letters and numbers, down to 80 %",
        run=lambda shell: shell.looks.smaller_text(),
        blocked=reasons.never,
        keys=("Ctrl+-",),
    ),
    ActionSpec(
        id="text-usual",
        text="100 %",
        menu="View/Text size",
        tooltip="Letters and numbers of the usual size",
        run=lambda shell: shell.looks.usual_text(),
        blocked=reasons.never,
        keys=("Ctrl+0",),
    ),
)


def _layout(name: LayoutName, text: str, tooltip: str) -> ActionSpec:
    return ActionSpec(
        id=f"layout-{name}",
        text=text,
        menu="Window",
        tooltip=tooltip,
        run=lambda shell: shell.layouts.choose(name),
        blocked=reasons.never,
        is_on=lambda shell: shell.layouts.name == name,
    )


WINDOW_ACTIONS: tuple[ActionSpec, ...] = (
    ActionSpec(
        id="matrix",
        text="Matrix…",
        menu="Window",
        tooltip="What each fault does, by model and policy, as measured; a click opens the run",
        run=lambda shell: shell.aids.show_matrix(shell.looks),
        blocked=reasons.never,
    ),
    *(_layout(name, f"{name.capitalize()} layout", tip) for name, tip in LAYOUTS.items()),
    ActionSpec(
        id="reset-layout",
        text="Reset layout",
        menu="Window",
        tooltip="Arrange the panels as at the first start",
        run=lambda shell: shell.layouts.reset(),
        blocked=reasons.never,
    ),
)

HELP_ACTIONS: tuple[ActionSpec, ...] = (
    ActionSpec(
        id="shortcuts",
        text="Shortcuts",
        menu="Help",
        tooltip="All keys, on one sheet",
        run=lambda shell: shell.aids.show_shortcuts(),
        blocked=reasons.never,
        soft_keys=("?",),
    ),
    ActionSpec(
        id="about",
        text="About kvscope",
        menu="Help",
        tooltip="What this program is, and its versions",
        run=lambda shell: shell.aids.show_about(),
        blocked=reasons.never,
        keys=("F1",),
    ),
)
