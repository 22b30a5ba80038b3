#!/usr/bin/env python3
"""Checks five habits: tests don't sleep, a file stays one idea (at most 400 lines), a class of the consumer has at most 30
functions, a docstring begins with what it is about, and a comment is no wider than the code.

usage: check_habits.py [ROOT]       check the tree at ROOT (default: the one this script is in)
       check_habits.py --self-test  check the checker
"""

import re
import sys
import tempfile
from pathlib import Path

LONGEST = 400
MOST_FUNCTIONS = 30
WIDEST = 118  # .clang-format sees to the code

# Files that may be longer, each with the reason.
LONG_ON_PURPOSE = {
}

# Waiting for real time makes a test slow on a good day and wrong on a bad one: use a manual clock, or wait for the event.
SLEEP = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep)\b|(?<![\w.>])sleep\s*\(")

# "/// Of the answers of which something is held." makes a stranger look for the noun: "/// Size of all receive buffers".
TURNED_ROUND = re.compile(r"\s*/// (Of|That|Those|They|There|Until|Who|Whom|Whose|So|What)\b")
DOCUMENTED = ("lib", "apps", "bench", "tests", "docs/examples")


def docstrings(lines):
    """The lines with which a `///` comment begins, numbered from 1."""
    before = ""
    for number, line in enumerate(lines, 1):
        goes_on = before.lstrip().startswith("///") and before.strip() != "///"
        if line.lstrip().startswith("/// ") and not goes_on:
            yield number, line
        before = line


def check_docstrings(root):
    for top in DOCUMENTED:
        for file in sorted((root / top).rglob("*.?pp")):
            for number, line in docstrings(file.read_text(encoding="utf-8").splitlines()):
                found = TURNED_ROUND.match(line)
                if found:
                    yield (f"{file.relative_to(root)}:{number}: a docstring begins with a noun or a verb, "
                           f"not with {found.group(1)}")


def check_widths(root):
    for top in DOCUMENTED:
        for file in sorted((root / top).rglob("*.?pp")):
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                if len(line) > WIDEST and line.lstrip().startswith("//"):
                    yield f"{file.relative_to(root)}:{number}: a comment of {len(line)} columns; {WIDEST} at most"


def functions_by_class(text):
    """How many functions each class declares, by the class's name. Reads layout, no C++: good enough for these headers."""
    for noise in (r"//[^\n]*", r'"(\\.|[^"\\])*"', r"(?m)^#.*$", r"\b(public|private|protected)\s*:"):
        text = re.sub(noise, "", text)
    counts, open_braces, statement = {}, [], ""
    for c in text:
        if c not in "{};":
            statement += c
            continue
        inside = open_braces[-1] if open_braces else None
        opens_class = c == "{" and re.search(r"\b(?:class|struct)\s+(\w+)[^;()=]*$", statement)
        declares = re.match(r"(?!\s*(?:friend|using|static_assert)\b)[^=]*?[\w>=!]\s*\(", statement)
        if inside and declares and c != "}" and not opens_class:
            counts[inside] += 1
        if c == "{":
            open_braces.append(opens_class.group(1) if opens_class and "enum" not in statement else None)
            if open_braces[-1]:
                counts.setdefault(open_braces[-1], 0)
        elif c == "}" and open_braces:
            open_braces.pop()
        statement = ""
    return counts


def check_classes(root):
    for file in sorted((root / "lib/quern/consumer").rglob("*.hpp")):
        for name, count in functions_by_class(file.read_text(encoding="utf-8")).items():
            if count > MOST_FUNCTIONS:
                yield f"{file.relative_to(root)}: {name} has {count} functions, {MOST_FUNCTIONS} at most"


def check(root, long_on_purpose=LONG_ON_PURPOSE):
    problems = [*check_docstrings(root), *check_widths(root), *check_classes(root)]
    for file in sorted((root / "tests").rglob("*.?pp")):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if SLEEP.search(line.split("//")[0]):
                problems.append(f"{file.relative_to(root)}:{number}: a test must not sleep")
    for top in ("lib", "apps", "bench", "tests"):
        for file in sorted((root / top).rglob("*.?pp")):
            lines = len(file.read_text(encoding="utf-8").splitlines())
            name = str(file.relative_to(root))
            if lines > LONGEST and name not in long_on_purpose:
                problems.append(f"{name}: {lines} lines; split it by reason to change, or say in "
                                "tools/check_habits.py why not")
            if lines <= LONGEST and name in long_on_purpose:
                problems.append(f"{name}: no longer long; take it off the list in tools/check_habits.py")
    for name in long_on_purpose:
        if not (root / name).exists():
            problems.append(f"{name}: is gone; take it off the list in tools/check_habits.py")
    return problems


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("tests", "lib", "apps"):
            (root / name).mkdir()
        (root / "tests/good.cpp").write_text("clock.sleep(1); // never std::this_thread::sleep_for\nasleep(2);\n")
        (root / "lib/short.cpp").write_text("int a;\n" * LONGEST)
        (root / "lib/excused.cpp").write_text("int a;\n" * (LONGEST + 1))
        excused = {"lib/excused.cpp": "a table"}
        (root / "lib/quern").mkdir()
        (root / "lib/quern/good.hpp").write_text("/// The size.\n/// What it is.\nint a; ///< of it\n// So be it.\n")
        assert check(root, excused) == [], check(root, excused)

        (root / "lib/quern/bad.hpp").write_text("/// The size.\n///\n/// That of all.\nint a;\n    /// There is one.\n")
        problems = check(root, excused)
        assert [problem.split(": ")[0] for problem in problems] == ["lib/quern/bad.hpp:3", "lib/quern/bad.hpp:5"], problems
        (root / "lib/quern/bad.hpp").unlink()
        (root / "apps/bad.cpp").write_text("/// What it prints.\n")
        problems = check(root, excused)
        assert len(problems) == 1 and problems[0].startswith("apps/bad.cpp:1:"), problems
        (root / "apps/bad.cpp").write_text("int a;\n// " + "a " * 60)
        problems = check(root, excused)
        assert len(problems) == 1 and problems[0].startswith("apps/bad.cpp:2:"), problems
        (root / "apps/bad.cpp").unlink()

        (root / "lib/quern/consumer").mkdir()
        many = "".join(f"    int f{n}(int) {{ return g({n}); }}\n" for n in range(MOST_FUNCTIONS))
        header = root / "lib/quern/consumer/many.hpp"
        header.write_text("class many {\npublic:\n" + many + "    int a = 1, b{2};\n    enum { c };\n};\n")
        assert check(root, excused) == [], check(root, excused)
        header.write_text("class many {\n" + many + "    void one_more();\n};\n")
        assert len(check(root, excused)) == 1, check(root, excused)
        header.unlink()

        (root / "tests/bad.cpp").write_text("std::this_thread::sleep_for(1s);\n\n::sleep(1);\n")
        for name in ("apps", "tests"):
            (root / name / "long.cpp").write_text("int a;\n" * (LONGEST + 1))
        problems = check(root, {**excused, "lib/gone.cpp": "", "lib/short.cpp": ""})
        expected = ["tests/bad.cpp:1:", "tests/bad.cpp:3:", "lib/short.cpp: no longer", "apps/long.cpp:", "tests/long.cpp:",
                    "lib/gone.cpp: is gone"]
        assert len(problems) == len(expected), problems
        assert all(problem.startswith(start) for problem, start in zip(problems, expected)), problems
    print("check_habits: finds what it should")


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    problems = check(root)
    print("\n".join(problems) or "no sleeping test, no overlong file, class or comment, no docstring turned round")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
