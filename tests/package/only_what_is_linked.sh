#!/bin/sh
# only_what_is_linked.sh <cmake> <sources of Quern> <compiler> <build folder>: what would be built where Quern is fetched.
set -eu
rm -rf "$4"
"$1" -S "$2/tests/package/fetched" -B "$4" -G Ninja "-DQUERN_SOURCES=$2" "-DCMAKE_CXX_COMPILER=$3" >/dev/null
"$1" --build "$4" -- -n >"$4/steps"
grep -q quern_sqs.dir "$4/steps" || { echo "the client is not built"; exit 1; }
if grep -E 'quern(_[a-z]*)?\.dir' "$4/steps" | grep -v 'quern_sqs\.dir'; then
    echo "that was not asked for"
    exit 1
fi
