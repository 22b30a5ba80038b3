"""warned.py FILE -- COMPILER ARGUMENT...: each line of FILE that ends in `// warns` has to make the compiler warn, and no other.

Where there is no COMPILER the test is skipped."""

import re
import shutil
import subprocess
import sys


SKIPPED = 77


def main(path, compiler):
    if not shutil.which(compiler[0]):
        print(f"skipped: {compiler[0]} is not installed, and g++ 12 does not warn here")
        sys.exit(SKIPPED)
    with open(path, encoding="utf-8") as text:
        wanted = {number for number, line in enumerate(text, 1) if line.rstrip().endswith("// warns")}
    said = subprocess.run(compiler + [path], capture_output=True, text=True, check=False)
    if said.returncode != 0 or not wanted:
        sys.exit(f"{path} has to compile, and to have lines that warn:\n{said.stderr}")
    found = {int(number) for number in re.findall(re.escape(path) + r":(\d+):\d+: warning:", said.stderr)}
    if found != wanted:
        sys.exit(f"warned of lines {sorted(found)}, not {sorted(wanted)}:\n{said.stderr}")
    print(f"{len(wanted)} lines warn")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[3:])
