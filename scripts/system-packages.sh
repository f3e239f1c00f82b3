#!/bin/sh
# Installs the Debian packages that are missing: `system-packages.sh run|test`.
# What is there already is left alone, and then nothing needs root or the network.
set -eu

purpose=${1:-run}
missing=''

need() { # command, package
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}

need cc build-essential # links what Rust compiles
need_header() { # header, package
    [ -e "/usr/include/$1" ] || missing="$missing $2"
}

need_header libelf.h libelf-dev # libbpf, which loads controllers into the kernel, reads objects with it
need_header zlib.h zlib1g-dev   # and that reads compressed ones
if ! command -v uv >/dev/null 2>&1; then # brought by pip where the machine has none
    "${PYTHON:-python3}" -m pip --version >/dev/null 2>&1 || missing="$missing python3-pip"
fi
required=$missing

# What the README shows after `make run`: without clang `bentpipe kernel load` has no programs.
need clang clang
need ping iputils-ping

if [ "$purpose" = test ]; then
    "${PYTHON:-python3}" -c 'import venv' 2>/dev/null || missing="$missing python3-venv"
    need tshark tshark            # reads our packet captures
    need tcptrace tcptrace        # reads them in its own way
    need editcap wireshark-common # turns them into what tcptrace reads
    need valgrind valgrind        # counts instructions
    need ip iproute2              # namespaces to try the kernel's controllers in
    need nft nftables             # sends connections to the proxy
    need curl curl                # a program that everybody knows, across a link
    need chromium chromium        # opens the reports
    need ns ns2                   # a peer to agree with
    need man man-db               # reads the manual page
    need zsh zsh                  # completes words, as bash does
    need fish fish
fi
[ -n "$missing" ] || exit 0

go_on() { # only what is required stops the set-up
    [ -z "$required" ] || exit 1
    echo "bentpipe: going on without them; what needs them is not available" >&2
    exit 0
}

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "bentpipe: missing system packages:$missing" >&2
    echo "bentpipe: only root can install them; please run: sudo apt-get install$missing" >&2
    go_on
fi
echo "bentpipe: installing$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # the packages are words
apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing >/dev/null || go_on
