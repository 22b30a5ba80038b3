#!/bin/sh
# without.sh <cmake> <sources of Quern> <compiler> <build folder> <setting> <library>...: the setting leaves out these libraries, and
# no others.
set -eu
cmake=$1 sources=$2 compiler=$3 build=$4 setting=$5
shift 5
rm -rf "$build"
"$cmake" -S "$sources" -B "$build" -G Ninja "-DCMAKE_CXX_COMPILER=$compiler" \
    -DQUERN_TESTS=OFF -DQUERN_APPS=OFF -DQUERN_BENCH=OFF "-D$setting" >/dev/null
"$cmake" --build "$build" --target quern_libraries -- -n >"$build/steps"
for library in sqs quern services idempotency metrics tracing relay flags fleet redrive admin broker sim; do
    case " $* " in
    *" $library "*) wanted=no ;;
    *) wanted=yes ;;
    esac
    name="quern_$library"
    [ "$library" != quern ] || name=quern
    found=no
    ! grep -Eq "(^|[ /])$name\.dir/" "$build/steps" || found=yes
    [ "$found" = "$wanted" ] || { echo "$setting: $library is built: $found"; exit 1; }
done
