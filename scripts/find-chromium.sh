#!/bin/sh
# Prints the system's Chromium or Chrome for the page tests; installs it on Debian where it is missing.
set -u

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

find_browser() {
    for browser in "${CHROMIUM:-}" chromium chromium-browser google-chrome \
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
        [ -n "$browser" ] && command -v "$browser" && return 0
    done
    return 1
}

find_browser && exit 0
if command -v apt-get >/dev/null 2>&1; then
    echo "Installing the system package chromium ..." >&2
    { as_root apt-get update -q && as_root apt-get install -qy --no-install-recommends chromium; } >&2
    find_browser && exit 0
fi
echo "The page tests need Chromium or Chrome, and it could not be installed here." >&2
echo "Debian: sudo apt-get install chromium    macOS: brew install --cask google-chrome" >&2
echo "If it lies elsewhere: make test CHROMIUM=/path/to/chrome" >&2
exit 1
