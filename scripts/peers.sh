#!/bin/sh
# Brings the peer simulators of benches/peers into .cache/peers: ns-3 from PyPI, our programs for it
# compiled, and ns-2 from Debian. What is there already is left alone.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
peers=$root/.cache/peers
version=3.44.post0

say() { printf 'peers: %s\n' "$*"; }
fail() { printf 'peers: %s\n' "$*" >&2; exit 1; }

mkdir -p "$peers"

# 1. ns-3: the wheel carries the libraries and the headers. The mark is written last, so that an
#    interrupted installation is done again.
mark=$peers/venv/ns3-$version.installed
if [ -e "$mark" ]; then
    say "ns-3 $version: there"
else
    say "ns-3 $version: installing from PyPI (half a gigabyte on disk)"
    "$root/scripts/uv.sh" venv --quiet --clear "$peers/venv"
    # Without cppyy: only its bindings for Python need it, and to compile it takes many minutes.
    "$root/scripts/uv.sh" pip install --quiet --no-cache --no-deps \
        --python "$peers/venv/bin/python" "ns3==$version"
    : >"$mark"
fi

# 2. Our programs. A name holds the hash of all that decides the program.
set -- "$peers"/venv/lib/python3*/site-packages/ns3
ns3=$1
[ -e "$ns3/include/ns3/core-module.h" ] || fail "no ns-3 headers in $ns3"
# As the wheel's libraries: C++20 and the release profile.
flags='-std=c++20 -O3 -DNS3_BUILD_PROFILE_RELEASE'
modules='-lns3.44-internet -lns3.44-point-to-point -lns3.44-traffic-control -lns3.44-network -lns3.44-core'
for name in download aqm; do
    source=$root/benches/peers/ns3_$name.cc
    hash=$({ cat "$source"; echo "$version $flags"; } | sha256sum | cut -c1-12)
    program=$peers/ns3-$name-$hash
    if [ -x "$program" ]; then
        say "ns3-$name-$hash: there"
    else
        command -v g++ >/dev/null || fail "g++ is missing: install Debian's package g++"
        say "ns3-$name-$hash: compiling"
        # shellcheck disable=SC2086 # the flags are words
        g++ $flags -isystem "$ns3/include" "$source" -o "$program.new" \
            -L"$ns3/lib64" -Wl,-rpath,"$ns3/lib64" -Wl,-rpath-link,"$ns3/lib64" $modules
        mv "$program.new" "$program"
        for old in "$peers/ns3-$name"-*; do
            [ "$old" = "$program" ] || rm -f "$old"
        done
    fi
    ln -sfn "ns3-$name-$hash" "$peers/ns3-$name"
done

# 3. ns-2: its program is called ns.
if dpkg-query -W -f '${db:Status-Status}' ns2 2>/dev/null | grep -qx installed; then
    say "ns-2: there"
elif [ "$(id -u)" != 0 ]; then
    fail "ns-2 is missing, and only root can install it: apt-get install ns2"
else
    say "ns-2: installing Debian's package ns2"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ns2 >/dev/null
fi
