#!/usr/bin/env bash
# Lays out every source with clang-format 14, or with --check only says which ones are not.
# usage: tools/format.sh [--check]

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

clang_format=${CLANG_FORMAT:-clang-format-14}
arguments=(-i)
if [[ ${1:-} == --check ]]; then
    arguments=(--dry-run -Werror)
fi
if ! command -v "$clang_format" >/dev/null; then
    printf '%s\n' "format: the layout is that of clang-format 14, which is not here: install it, or name it in CLANG_FORMAT" >&2
    exit 77
fi

folders=()
for folder in lib apps tests bench docs; do
    if [[ -d $folder ]]; then folders+=("$folder"); fi
done

find "${folders[@]}" -type f \( -name '*.hpp' -o -name '*.cpp' \) -print0 |
    sort -z | xargs -0 --no-run-if-empty --max-procs="$(nproc)" --max-args=8 "$clang_format" "${arguments[@]}"
