#!/bin/sh
# usage: run.sh PROGRAM SUITE PATH
# Runs one suite of AWS's own cases. They lie beside the source tree, not in it: without them the test is skipped.
if ! [ -e "$3" ]; then
    echo "skipped: $3 is not there"
    exit 77
fi
exec "$1" "$2" "$3"
