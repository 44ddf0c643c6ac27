#!/bin/sh
# Takes the pictures of the README: the real window, light, on a display of its own.
# Needs Xvfb, openbox, xdotool and ImageMagick's `import`. From the root of the repository:
#     sh resources/pictures/take.sh [PYTHON]
set -eu

python=${1:-.venv/bin/python}
folder=$(dirname "$0")
settings=$(mktemp -d)
export DISPLAY=:93 QT_QPA_PLATFORM=xcb XDG_CONFIG_HOME="$settings"
Xvfb "$DISPLAY" -screen 0 1280x840x24 >/dev/null 2>&1 &
screen=$!
trap 'kill $screen; rm -rf "$settings"' EXIT
sleep 2
openbox >/dev/null 2>&1 &

# take NAME PLACE OPTION...: a picture once the run is judged; PLACE is clicked before, unless "".
take() {
    name=$1 place=$2
    shift 2
    "$python" -m app --theme light --reset-layout "$@" &
    program=$!
    # A window that goes while xdotool looks at it ends xdotool: then it looks again.
    until window=$(xdotool search --onlyvisible --pid $program | tail -1) && [ -n "$window" ]; do
        sleep 1
    done
    sleep 2
    xdotool windowsize "$window" 1280 840 windowmove "$window" 0 0
    sleep 12
    [ -z "$place" ] || xdotool mousemove $place click 1 mousemove 640 839
    sleep 2
    import -window root "$folder/$name.png"
    kill "$program"
    wait "$program" || true
}

take start ""
take fault "1138 634"
take spread "108 664" --fault evict-off-by-one
