# Sourced by ./run and ./test: makes the virtual environment .venv and what it needs.

need_debian() { # names of Debian packages, installed when a program of theirs is missing
    missing=
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
    done
    [ -z "$missing" ] && return 0
    if [ "$(id -u)" != 0 ]; then
        echo "missing Debian packages:$missing; install them as root with: apt-get install$missing" >&2
        exit 1
    fi
    echo "installing Debian packages:$missing" >&2
    # Their services are not wanted here: servers are started by the tests, on ports of their own.
    log=$(mktemp)
    { apt-get update && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
    rm -f "$log"
}

python_environment() { # extras, such as "test,serve"; and options of pip, if any
    [ -x .venv/bin/python ] || "${PYTHON:-python3}" -m venv .venv
    wanted=$(cat setup.cfg pyproject.toml | cksum; .venv/bin/python -V; echo "$1")
    if [ "$(cat .venv/installed 2>/dev/null)" != "$wanted" ]; then
        .venv/bin/python -m pip install -q --disable-pip-version-check "setuptools>=61" wheel
        .venv/bin/python -m pip install -q --disable-pip-version-check --no-build-isolation ${2:-} ".[$1]"
        echo "$wanted" >.venv/installed
    else
        .venv/bin/python -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall .
    fi
    rm -rf build noidtools.egg-info
}
