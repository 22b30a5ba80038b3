#!/usr/bin/env bash
# usage: tools/compare_abi.sh <commit>
# What has changed since a commit for programs that are linked with the shared libraries. Status 0: such a program goes on
# working; 1: it has to be compiled anew, which until 1.0 a minor release may ask for.

set -euo pipefail
commit=$(git rev-parse --verify --quiet "$1^{commit}") || { echo "there is no commit $1" >&2; exit 2; }
root=$PWD/build/abi
mkdir -p "$root"

# Shared libraries of the tree in $1, into $2.
build() {
    cmake -S "$1" -B "$2" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG='-O0 -g' -DBUILD_SHARED_LIBS=ON -DQUERN_TESTS=OFF \
        -DQUERN_APPS=OFF -DQUERN_BENCH=OFF >"$2.log" 2>&1 || { tail -20 "$2.log" >&2; return 1; }
    cmake --build "$2" --parallel "$(nproc)" >>"$2.log" 2>&1 || { tail -20 "$2.log" >&2; return 1; }
}

rm -rf "$root/tree"
git worktree prune
git worktree add --quiet --detach "$root/tree" "$commit"
trap 'git worktree remove --force "$root/tree"' EXIT
build "$root/tree" "$root/before"
build . "$root/now"

changed=no
for library in "$root"/now/lib/*.so; do
    name=$(basename "$library")
    if [[ ! -e $root/before/lib/$name ]]; then
        echo "$name is new"
        continue
    fi
    echo "=== $name"
    # Status 8: incompatible for certain; 4: a change, which may be an addition.
    abidiff --no-added-syms --headers-dir1 "$root/tree/lib/quern" --headers-dir2 lib/quern "$root/before/lib/$name" "$library" || changed=yes
done
[[ $changed == no ]]
