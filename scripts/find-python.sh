#!/bin/sh
# Prints a Python 3.11 to 3.13 that can make virtual environments.
# On Debian and Ubuntu the missing venv package is installed (as root or with passwordless sudo).
set -u

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

suits() {
    command -v "$1" >/dev/null 2>&1 &&
        "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

for python in ${PYTHON:-python3.11 python3.12 python3.13 python3}; do
    suits "$python" || continue
    if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        package="$("$python" -c 'import sys; print("python3.%d-venv" % sys.version_info[1])')"
        echo "Installing the system package $package ..." >&2
        { as_root apt-get update -q && as_root apt-get install -qy "$package"; } >&2 || {
            echo "Python's venv module is missing, and it could not be installed here." >&2
            echo "Run this, then make again:  sudo apt-get install $package" >&2
            exit 1
        }
    fi
    command -v "$python"
    exit 0
done

echo "This needs Python 3.11, 3.12 or 3.13; none was found (${PYTHON:-python3.11 python3.12 python3.13 python3})." >&2
echo "Debian/Ubuntu: sudo apt-get install python3 python3-venv    macOS: brew install python@3.12" >&2
echo "If it lies elsewhere: make PYTHON=/path/to/python3" >&2
exit 1
