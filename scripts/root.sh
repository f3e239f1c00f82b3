#!/bin/sh
# Builds the root file system of a container from Debian packages, without a container engine and
# without a registry of images: `root.sh proxy DEB FOLDER` or `root.sh laboratory WHEEL FOLDER`.
#
# FOLDER gets the root, which `tar -C FOLDER -c . | podman import - NAME` makes an image. It needs
# mmdebstrap, and root or user namespaces.
set -eu

kind=$1
package=$2
folder=$3
suite=${SUITE:-bookworm}
command -v mmdebstrap >/dev/null 2>&1 || {
    echo "bentpipe: mmdebstrap is missing: sudo apt-get install mmdebstrap" >&2
    exit 1
}
name=/tmp/$(basename "$package")
case $kind in
proxy)
    packages=nftables,iproute2
    install="apt-get install --yes --no-install-recommends $name"
    ;;
laboratory)
    # iproute2 and nftables are for the backend on the kernel.
    packages=python3-pip,iproute2,nftables,ca-certificates
    install="python3 -m pip install --quiet --no-cache-dir --break-system-packages --root-user-action ignore $name"
    ;;
*)
    echo "bentpipe: expected proxy or laboratory, found $kind" >&2
    exit 2
    ;;
esac
mmdebstrap --quiet --variant=minbase --include="$packages" \
    --customize-hook="upload '$package' '$name'" \
    --customize-hook="chroot \"\$1\" $install" \
    --customize-hook="rm \"\$1$name\"" \
    "$suite" "$folder"
