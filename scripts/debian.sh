#!/bin/sh
# Builds the Debian package of the proxy: `debian.sh PROGRAM FOLDER`. PROGRAM is the compiled
# bentpipe-proxy. The package goes to FOLDER, and its path is printed. `deploy/debian` describes it.
#
# Equal sources, program and versions of Debian's tools give equal bytes: dates are those of the last
# commit.
set -eu

program=$1
folder=$2
root=$(cd "$(dirname "$0")/.." && pwd)
for tool in dpkg-buildpackage dh help2man; do
    command -v $tool >/dev/null 2>&1 || {
        echo "bentpipe: $tool is missing: sudo apt-get install debhelper dpkg-dev help2man" >&2
        exit 1
    }
done

mkdir -p "$folder"
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
sources=$build/bentpipe-proxy
mkdir -p "$sources/completion"
cp -r "$root/deploy/debian" "$sources/debian"
mv "$sources/debian/completion" "$sources/completion/bentpipe-proxy"
cp "$program" "$sources/bentpipe-proxy"
cp "$root/deploy/proxy.toml" "$sources/proxy.toml"
sed 's|/usr/local/bin/|/usr/bin/|' "$root/deploy/bentpipe-proxy.service" >"$sources/debian/bentpipe-proxy.service"

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct)
export SOURCE_DATE_EPOCH
cat >"$sources/debian/changelog" <<EOF
bentpipe-proxy ($version) stable; urgency=medium

  * See CHANGELOG.md of Bentpipe.

 -- The Bentpipe developers <bentpipe@localhost>  $(date -R -u -d "@$SOURCE_DATE_EPOCH")
EOF

cd "$sources"
export DEB_BUILD_OPTIONS=noautodbgsym
dpkg-buildpackage --build=binary --no-sign --no-check-builddeps >"$build/log" 2>&1 || {
    cat "$build/log" >&2
    exit 1
}
package=$(basename "$build"/bentpipe-proxy_*.deb)
mv "$build/$package" "$folder/$package"
echo "$folder/$package"
