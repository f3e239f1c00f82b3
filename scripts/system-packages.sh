#!/bin/sh
# Installs the Debian packages that are missing: `system-packages.sh run|test|packaging`.
# What is there already is left alone, and then nothing needs root or the network. Before anything is
# installed, each missing package is named with its purpose.
#
# Without root nothing is installed. Programs are found on PATH and headers where the compiler finds
# them (CPATH), whoever brought them: an administrator, conda, or a build in the home folder.
set -eu

purpose=${1:-run}
missing=''
list=''

lacks() { # package, its purpose
    missing="$missing $1"
    list="$list$(printf '  %-17s %s' "$1" "$2")
"
}

need() { # command, package, purpose
    command -v "$1" >/dev/null 2>&1 || lacks "$2" "$3"
}

need_header() { # header, package, purpose
    [ -e "/usr/include/$1" ] || echo "#include <$1>" | "${CC:-cc}" -E - >/dev/null 2>&1 || lacks "$2" "$3"
}

need cc build-essential "links what Rust compiles"
need_header libelf.h libelf-dev "libbpf, which loads controllers into the kernel, reads objects with it"
need_header zlib.h zlib1g-dev "the same, where objects are compressed"
if ! command -v uv >/dev/null 2>&1; then
    "${PYTHON:-python3}" -m pip --version >/dev/null 2>&1 || lacks python3-pip "brings uv"
fi
required=$missing

need clang clang "compiles the controllers of \`bentpipe kernel load\`"
need ping iputils-ping "measures an emulated path, as the README shows"

if [ "$purpose" = test ]; then
    "${PYTHON:-python3}" -c 'import venv' 2>/dev/null ||
        lacks python3-venv "makes the environment in which the wheel is tried"
    need tshark tshark "reads our packet captures"
    need tcptrace tcptrace "reads them in its own way"
    need editcap wireshark-common "turns them into what tcptrace reads"
    need tcpdump tcpdump "captures the packets of a real kernel"
    need valgrind valgrind "counts instructions"
    need ip iproute2 "makes namespaces to try the kernel's controllers in"
    need nft nftables "sends connections to the proxy"
    need wg wireguard-tools "makes tunnels between namespaces"
    need wireguard-go wireguard-go "tunnels, where the kernel has none"
    need curl curl "a usual program, across a link"
    need iperf3 iperf3 "another one, whose goodput the simulator predicts"
    need chromium chromium "opens the reports, and loads a page across a link"
    need nginx nginx-light "serves that page; Debian starts its service, too"
    need ns ns2 "a simulator to compare with"
    need man man-db "reads the manual page"
    need zsh zsh "completes words, as bash does"
    need fish fish "completes words, as bash does"
fi
if [ "$purpose" = packaging ]; then
    need dh debhelper "makes the Debian package of the proxy"
    need dpkg-buildpackage dpkg-dev "the same"
    need help2man help2man "makes its manual page"
    need x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64-win32 "links the wheel for Windows"
    need img2webp webp "joins the pictures of the live page into a recording"
    need mmdebstrap mmdebstrap "makes root file systems of containers"
fi
[ -n "$missing" ] || exit 0

go_on() { # only what is required stops the set-up
    [ -z "$required" ] || exit 1
    echo "bentpipe: going on without them; what needs them is not available" >&2
    exit 0
}

printf 'bentpipe: missing system packages:\n%s' "$list" >&2
command -v apt-get >/dev/null 2>&1 || {
    echo "bentpipe: no apt-get here: please install what gives these programs and headers" >&2
    go_on
}
sudo=''
if [ "$(id -u)" != 0 ]; then
    # A password is only asked for on a terminal: scripts and CI do not wait for one.
    sudo='sudo'
    [ -t 0 ] || sudo='sudo -n'
    if ! command -v sudo >/dev/null 2>&1 || ! $sudo true 2>/dev/null; then
        echo "bentpipe: only root can install them: sudo apt-get install$missing" >&2
        echo "bentpipe: without root: put programs on PATH and headers on CPATH, and start again" >&2
        go_on
    fi
fi
echo "bentpipe: installing them with apt-get" >&2
apt="$sudo env DEBIAN_FRONTEND=noninteractive apt-get"
# shellcheck disable=SC2086 # the packages are words
$apt update -qq && $apt install -y -qq --no-install-recommends $missing >/dev/null || go_on
