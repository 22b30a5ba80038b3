#!/usr/bin/env bash
# usage: tools/make_image.sh <static program> <folder>
# Makes <folder>/quern.oci.tar, an image with the program, the authorities that this machine trusts, and nothing else. The
# same program gives the same bytes. Needs buildah, and no daemon.

set -euo pipefail
program=$1 out=$2
version=$("$program" --version | cut -d ' ' -f 2)
commit=$(git rev-parse HEAD)
time=$(git log -1 --format=%ct)
rm -rf "$out"
mkdir -p "$out"
store=$(realpath "$out")/store
buildah() { command buildah --root "$store" --runroot "$store/run" --storage-driver vfs "$@"; }
trap 'rm -rf "$store" "$out/root" "$out/oci"' EXIT

container=$(buildah from scratch)
install -D -m 755 "$program" "$out/root/usr/bin/quern"
install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$out/root/etc/ssl/certs/ca-certificates.crt"
find "$out/root" -exec touch -d "@$time" {} +
buildah copy --quiet "$container" "$out/root" / >/dev/null
buildah config --entrypoint '["/usr/bin/quern"]' --user 65532:65532 \
    --label org.opencontainers.image.title=quern --label "org.opencontainers.image.version=$version" \
    --label "org.opencontainers.image.revision=$commit" --label org.opencontainers.image.licenses=Apache-2.0 "$container"
buildah commit --quiet --timestamp "$time" "$container" "quern:$version" >/dev/null
buildah push --quiet "quern:$version" "oci:$out/oci:quern:$version"
tar -C "$out/oci" --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner -cf "$out/quern.oci.tar" blobs index.json oci-layout
echo "done: $out/quern.oci.tar, quern:$version"
