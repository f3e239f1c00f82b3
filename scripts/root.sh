#!/bin/sh
# Builds the root file system of a container from Debian packages, without a container engine and
# without a registry of images: `root.sh proxy DEB FOLDER` or `root.sh laboratory WHEEL FOLDER`.
#
# The wheel's dependencies are fetched by the pip of this machine, for the Python of the root.
#
# FOLDER gets the root, which `tar -C FOLDER -c . | podman import - NAME` makes an image. It needs
# mmdebstrap, and root or user namespaces.
set -eu

kind=$1
package=$2
folder=$3
suite=${SUITE:-bookworm}
python=${PYTHON_OF_ROOT:-3.11}
command -v mmdebstrap >/dev/null 2>&1 || {
    echo "bentpipe: mmdebstrap is missing: sudo apt-get install mmdebstrap" >&2
    exit 1
}
held=$(mktemp -d)
trap 'rm -rf "$held"' EXIT
mkdir "$held/packages"
cp "$package" "$held/packages"
name=/tmp/packages/$(basename "$package")
case $kind in
proxy)
    packages=nftables,iproute2
    install="apt-get install --yes --no-install-recommends $name"
    ;;
laboratory)
    # iproute2 and nftables are for the backend on the kernel.
    packages=python3-pip,iproute2,nftables,ca-certificates
    install="python3 -m pip install --quiet --no-index --find-links /tmp/packages --break-system-packages --root-user-action ignore $name"
    "${PYTHON:-python3}" -m pip download --quiet --disable-pip-version-check --only-binary :all: \
        --python-version "$python" --dest "$held/packages" "$package"
    ;;
*)
    echo "bentpipe: expected proxy or laboratory, found $kind" >&2
    exit 2
    ;;
esac
mmdebstrap --quiet --variant=minbase --include="$packages" \
    --customize-hook="copy-in '$held/packages' /tmp" \
    --customize-hook="chroot \"\$1\" $install" \
    --customize-hook="rm -r \"\$1/tmp/packages\"" \
    "$suite" "$folder"
