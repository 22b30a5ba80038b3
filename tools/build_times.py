#!/usr/bin/env python3
"""build_times.py <build folder>: which steps of the build took longest, out of what ninja wrote down."""

import pathlib
import sys

SHOWN = 25

folder = pathlib.Path(sys.argv[1])
last = {}
for line in (folder / ".ninja_log").read_text().splitlines():
    if line.startswith("#"):
        continue
    start, end, _, output, _ = line.split("\t")
    last[output] = (int(end) - int(start)) / 1000
compiled = [output for output in last if output.endswith((".o", ".gch", ".pch")) and (folder / output).exists()]
ranking = sorted(((last[output], output) for output in compiled), reverse=True)
for took, output in ranking[:SHOWN]:
    print(f"{took:7.1f} s  {output}")
print(f"{sum(took for took, _ in ranking):7.1f} s  in all, of {len(ranking)} files; what ccache had took no time")
