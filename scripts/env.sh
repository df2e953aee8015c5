# Sourced: finds the tools that AX is built, shown and tested with, and exports where they are.
#   AX_ROOT        this source tree
#   AX_CACHE       per-user cache, outside the tree
#   AX_NATS_SERVER AX_NATS_CLI (and AX_NATS)   programs to use: the variable if set, else PATH, else
#                  the cache
#   AX_PROMTOOL    Prometheus' promtool: the variable if set, else PATH, else the cache
#   AX_PYTHON      python with nats-py;  AX_NODE_MODULES (and NODE_PATH): the @nats-io packages
# A tool that is not there keeps its place in the cache as value: scripts/setup puts it there.

AX_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
: "${HOME:=$(echo ~)}"
AX_CACHE=${AX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ax}
export AX_ROOT HOME AX_CACHE
. "$AX_ROOT/scripts/versions.sh"

# at_least A B: version A ("2.14.3") is B or newer; a pre-release counts as older than its release.
at_least() {
    local a=${1/-/\~} b=${2/-/\~}
    [ "$(printf '%s\n%s\n' "$a" "$b" | sort -V | head -n 1)" = "$b" ]
}

# version_of PROGRAM: "2.15.1" out of what --version prints, nothing if it does not run.
version_of() {
    "$1" --version 2>/dev/null | grep -oE '[0-9]+\.[0-9]+\.[0-9]+(-[A-Za-z0-9.]+)?' | head -n 1
}

# suitable PROGRAM MINIMUM
suitable() {
    local found
    found=$(version_of "$1")
    [ -n "$found" ] && at_least "$found" "$2"
}

# choose NAME MINIMUM: the program on PATH if new enough, else the cache's.
choose() {
    local found
    found=$(command -v "$1" || true)
    if [ -n "$found" ] && suitable "$found" "$2"; then
        echo "$found"
    else
        echo "$AX_CACHE/bin/$1"
    fi
}

AX_NATS_SERVER=${AX_NATS_SERVER:-$(choose nats-server "$NATS_SERVER_MIN")}
AX_NATS_CLI=${AX_NATS_CLI:-$(choose nats "$NATS_CLI_MIN")}
AX_PROMTOOL=${AX_PROMTOOL:-$(command -v promtool || echo "$AX_CACHE/bin/promtool")}
AX_PYTHON=${AX_PYTHON:-$AX_CACHE/venv/bin/python}
AX_NODE_MODULES=${AX_NODE_MODULES:-$AX_CACHE/node/node_modules}
NODE_PATH=$AX_NODE_MODULES
AX_NATS=$AX_NATS_CLI
export AX_NATS_SERVER AX_NATS_CLI AX_NATS AX_PROMTOOL AX_PYTHON AX_NODE_MODULES NODE_PATH

# A Go fetched by scripts/setup serves where the machine's own is too old.
go_version() { (cd / && GOTOOLCHAIN=local go env GOVERSION 2>/dev/null | sed 's/^go//; s/ .*//'); }
if [ -x "$AX_CACHE/go/$GO_VERSION/bin/go" ]; then
    have=$(go_version)
    if [ -z "$have" ] || ! at_least "$have" "$GO_MIN"; then
        export PATH="$AX_CACHE/go/$GO_VERSION/bin:$PATH"
        unset GOROOT
    fi
    unset have
fi
