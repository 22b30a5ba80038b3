#!/bin/sh
# usage: run.sh FOLDER CLASS. The JVM sees as many processors as there may be threads, and sizes itself accordingly: with one
# it takes the serial collector and one compiler thread of each kind. The heap's bound makes machines comparable.
exec java -XX:ActiveProcessorCount="${BENCH_THREADS:-1}" -Xmx2g -XX:+ExitOnOutOfMemoryError \
    -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
    -Dorg.slf4j.simpleLogger.log.io.awspring.cloud.sqs.listener.sink=off -cp "$1/lib/*:$1/classes" "$2"
