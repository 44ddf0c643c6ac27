#!/bin/sh
# From a fresh clone to the open window, or to the test results:
#   sh resources/run.sh open [ARGUMENTS OF kvscope]
#   sh resources/run.sh test [OPTIONS OF pytest]
# Both make or reuse .venv in the checkout. What the system lacks is installed with apt-get when
# run as root; otherwise the one line that installs it is printed.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
venv=$root/.venv
python=$venv/bin/python

# What Qt needs to be imported and to draw off screen; and, with it, to open windows on X11.
qt_base="libglib2.0-0 libgl1 libegl1 libxkbcommon0 libdbus-1-3 libfontconfig1"
qt_x11="libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-shape0 libxcb-xkb1 libxkbcommon-x11-0"
apt_install="apt-get install -y --no-install-recommends"

say() { printf '%s\n' "kvscope: $*" >&2; }

fail() {
    say "$*"
    exit 1
}

# install_packages WHY PACKAGE...: as root with apt-get; else false, with the line to type.
install_packages() {
    why=$1
    shift
    if ! command -v apt-get >/dev/null; then
        say "$why. Debian's names of what is missing: $*"
        return 1
    fi
    if [ "$(id -u)" -ne 0 ]; then
        say "$why. Type: sudo apt-get update && sudo $apt_install $*"
        return 1
    fi
    say "$why: installing $*"
    # shellcheck disable=SC2086
    if apt-get update -qq && DEBIAN_FRONTEND=noninteractive $apt_install -qq "$@" >&2; then
        return 0
    fi
    say "apt-get could not install them (its own words are above)"
    return 1
}

# The first Python that is new enough, or nothing.
find_python() {
    for candidate in python3 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
}

make_environment() {
    # One that was made before is kept, with the torch that is in it. One cut short is made again.
    if "$python" -c 'import pip, sys; sys.exit(sys.prefix == sys.base_prefix)' 2>/dev/null; then
        return
    fi
    base=$(find_python)
    if [ -z "$base" ]; then
        install_packages "no Python 3.11 or newer was found" python3 python3-venv || exit 1
        base=$(find_python)
        [ -n "$base" ] || fail "this system's newest Python is older than 3.11; install a newer one"
    fi
    if ! "$base" -c 'import ensurepip, venv' 2>/dev/null; then
        install_packages "$base cannot make environments" python3-venv || exit 1
    fi
    say "making the environment $venv"
    "$base" -m venv --clear "$venv" || fail "$base could not make $venv"
}

# install_kvscope SPEC: with pip, unless this very pyproject.toml is installed from here already.
install_kvscope() {
    wanted="$root $(cksum <"$root/pyproject.toml")"
    case $1 in
    *test*) enough=for-test ;;
    *) enough="to-open for-test" ;;
    esac
    for purpose in $enough; do
        if [ "$(cat "$venv/installed-$purpose" 2>/dev/null)" = "$wanted" ]; then
            return
        fi
    done
    say "installing into $venv (torch alone can be a download of 2.7 GB: see README.md)"
    (cd "$root" && "$python" -m pip install --disable-pip-version-check -e "$1") ||
        fail "pip could not install kvscope; its own words are above"
    echo "$wanted" >"$venv/installed-${enough%% *}"
}

start_qt() {
    (
        cd "$root"
        # shellcheck disable=SC3045
        ulimit -c 0 || :
        exec "$python" -c '
from PySide6.QtGui import QFontInfo
from PySide6.QtWidgets import QApplication
from app.fonts import load_fonts
application = QApplication([])
load_fonts(application)
raise SystemExit(None if QFontInfo(application.font()).family() else "Qt finds no font")
'
    )
}

# Whether Qt starts on the chosen platform and has letters to draw; in a process of its own, since
# Qt aborts where it cannot. What went wrong is left in $qt_says.
qt_starts() {
    if qt_says=$({ start_qt || exit 1; } 2>&1); then
        return 0
    fi
    # Qt tells the cause first and then much more; Python tells it last.
    qt_says=$(printf '%s\n' "$qt_says" | grep -m 1 -i 'could not' ||
        printf '%s\n' "$qt_says" | grep -v '^$' | tail -n 1)
    return 1
}

# prepare_qt PACKAGE...: false, with the reason said, if Qt cannot be made to start.
prepare_qt() {
    qt_starts && return 0
    case $qt_says in
    *"connect to display"*)
        say "the display does not answer: $qt_says"
        return 1
        ;;
    esac
    install_packages "Qt does not start ($qt_says)" "$@" || return 1
    qt_starts && return 0
    say "Qt still does not start: $qt_says"
    return 1
}

# A platform that was chosen, or a desktop to draw on.
has_display() {
    [ -n "${QT_QPA_PLATFORM:-}${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] || [ "$(uname)" != Linux ]
}

open_window() {
    has_display || say "no display here (DISPLAY and WAYLAND_DISPLAY are empty); installing only"
    make_environment
    install_kvscope .
    has_display || fail "installed, but there is no display for a window. Without one:" \
        "$venv/bin/kvscope run --help"
    # shellcheck disable=SC2086
    prepare_qt $qt_base $qt_x11 || exit 1
    exec "$venv/bin/kvscope" "$@"
}

# run_part PYTEST-ARGUMENTS...: sets $result to passed, failed or "no tests". One process a core,
# but each holds torch: more than four would fill the memory before they save time.
run_part() {
    status=0
    (cd "$root" && "$python" -m pytest -n auto --maxprocesses 4 --dist worksteal "$@") || status=$?
    case $status in
    0) result=passed ;;
    5) result="no tests" ;;
    *) result=failed ;;
    esac
}

run_tests() {
    export QT_QPA_PLATFORM="${QT_QPA_PLATFORM:-offscreen}"
    make_environment
    install_kvscope ".[test]"
    # Two calls, so that a Qt that is missing or crashes cannot hide what the engine's tests say.
    say "tests without Qt"
    run_part -p no:pytest-qt tests --ignore=tests/app "$@"
    core_result=$result
    say "tests of the window"
    gui_result="not run"
    # shellcheck disable=SC2086
    if prepare_qt $qt_base; then
        run_part tests/app "$@"
        gui_result=$result
    fi
    say "tests without Qt: $core_result; tests of the window: $gui_result"
    case "$core_result, $gui_result" in
    "passed, passed") exit 0 ;;
    # A choice of tests may fall into one part alone.
    "passed, no tests" | "no tests, passed") [ $# -gt 0 ] && exit 0 ;;
    esac
    exit 1
}

verb=${1:-}
[ $# -eq 0 ] || shift
case $verb in
open) open_window "$@" ;;
test) run_tests "$@" ;;
*)
    say "say what to do: sh resources/run.sh open, or sh resources/run.sh test"
    exit 2
    ;;
esac
