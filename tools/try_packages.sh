#!/usr/bin/env bash
# usage: tools/try_packages.sh <folder of packages> [suite]
# Installs them in a bare root of this Debian, or of the suite, and uses them there as one would who has nothing else; then walks
# the guides there. Needs root.

set -euo pipefail
packages=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source /etc/os-release
suite=${2:-$VERSION_CODENAME}
root=$PWD/build/everywhere/bare-$suite

if [[ ! -e $root/made ]]; then
    rm -rf "$root"
    mkdir -p "$root"
    debootstrap --variant=minbase "$suite" "$root" >"$root.log"
    printf '%s\n' 'Acquire::Check-Valid-Until "false";' 'Acquire::Check-Date "false";' >"$root/etc/apt/apt.conf.d/99quern"
    touch "$root/made"
fi
rm -rf "$root/packages"
mkdir "$root/packages"
cp "$packages"/*.deb tests/package/embedding/*.cpp "$root/packages"
cp -r docs "$root/packages/docs"
cp /etc/resolv.conf "$root/etc/resolv.conf"

cat >"$root/packages/try" <<'TRY'
set -euxo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
cd /packages
apt-get -q update
apt-get -q install --yes --no-install-recommends ./quern_*.deb
quern --version
quern demo --messages 2000
test -e /usr/share/man/man1/quern-consume.1.gz
bash -c 'source /usr/share/bash-completion/completions/quern
    COMP_WORDS=(quern consume --log-format e) COMP_CWORD=3
    _quern
    test "${COMPREPLY[*]}" = ecs'
apt-get -q install --yes --no-install-recommends python3 curl
walks=()
python3 -B docs/examples/runbook.py /usr/bin/quern docs/guide/dead-letters.md >dead-letters.walk 2>&1 &
walks+=($!)
for page in relay local-broker alarms; do
    python3 -B docs/examples/walk.py /usr/bin/quern docs/guide/$page.md >$page.walk 2>&1 &
    walks+=($!)
done
apt-get -q install --yes --no-install-recommends ./libquern-dev_*.deb g++ pkgconf
g++ -std=c++20 -O1 orders.cpp threads.cpp -o orders $(pkgconf --cflags --libs quern quern-broker)
./orders
for walk in "${walks[@]}"; do
    wait "$walk" || {
        tail -n 20 ./*.walk
        exit 1
    }
done
apt-get -q purge --yes quern libquern-dev
test ! -e /usr/bin/quern
TRY
unshare --mount bash -c 'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" &&
    exec chroot "$1" /bin/bash /packages/try' _ "$root" >"$root.log" 2>&1 || {
    tail -40 "$root.log"
    exit 1
}
grep -E '^(quern [0-9]|.*messages/s)' "$root.log" || true
echo "the packages do what they should in a bare $suite"
