#!/usr/bin/env python3
"""Checks the documentation against the tree: a program that a page quotes is the one that is built and run, a link leads
to a file that is there, and to a heading in it, the test of the package includes the headers that the first page calls
front doors, and what a breach of a promise says stands in the source that is named beside it.

usage: check_docs.py [ROOT]       check the tree at ROOT (default: the one this script is in)
       check_docs.py --self-test  check the checker

A quotation is a fenced block after a line `<!-- quotes docs/examples/orders.cpp -->`, of the whole file.
"""

import re
import sys
import tempfile
from pathlib import Path

QUOTATION = re.compile(r"^<!-- quotes (\S+) -->\n```\w*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = "<!-- quotes "
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)

DOOR = re.compile(r"^\| `(quern/\S+\.hpp)` \|", re.MULTILINE)
DOORS_PAGE, DOORS_TEST = "docs/index.md", "tests/package/front_doors.cpp"

BREACH = re.compile(r'^\| .* \| "(.+)" \(\[\S+\]\((\S+)\)\) \|$', re.MULTILINE)
PROMISES_PAGE = "docs/design/promises.md"

# Quoted in any case: the first program that a reader sees.
PROMISED = {"README.md": "docs/examples/orders.cpp"}


def anchors(page):
    """Names of a page's headings, as the site and GitHub make them."""
    headings = HEADING.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    texts = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", text).strip().lower().replace(" ", "-") for text in texts}


def check(root, promised=PROMISED):
    problems = []
    for page in sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")]):
        name = str(page.relative_to(root))
        text = page.read_text(encoding="utf-8")
        quotations = QUOTATION.findall(text)
        if len(quotations) != text.count(MARK):
            problems.append(f"{name}: a quotation is not followed by its fenced block")
        for source, quoted in quotations:
            if not (root / source).is_file():
                problems.append(f"{name}: quotes {source}, which is not there")
            elif (root / source).read_text(encoding="utf-8") != quoted:
                problems.append(f"{name}: what it quotes is not {source} any more")
        if name in promised and promised[name] not in dict(quotations):
            problems.append(f"{name}: should quote {promised[name]}")
        for target, anchor in LINK.findall(FENCE.sub("", text)):
            file = page.parent / target if target else page
            if "://" in target:
                continue
            if not file.exists():
                problems.append(f"{name}: links to {target}, which is not there")
            elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                problems.append(f"{name}: links to {target}#{anchor}, and no heading is called so")
    return problems


def check_front_doors(root):
    named = set(DOOR.findall((root / DOORS_PAGE).read_text(encoding="utf-8")))
    included = set(re.findall(r"#include <(quern/[^>]+)>", (root / DOORS_TEST).read_text(encoding="utf-8")))
    return [f"{DOORS_PAGE}: {door} is a front door there or in {DOORS_TEST}, not in both" for door in sorted(named ^ included)]


def check_promises(root):
    page = root / PROMISES_PAGE
    stated = BREACH.findall(page.read_text(encoding="utf-8"))
    wrong = [f'{PROMISES_PAGE}: "{words}" does not stand in {source}' for words, source in stated
             if words not in (page.parent / source).read_text(encoding="utf-8")]
    return wrong if stated else [f"{PROMISES_PAGE}: states no promise"]


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "docs").mkdir()
        (root / "docs/a.cpp").write_text("int a;\n")
        good = "# A `b` c?\n[a](docs/a.cpp) [b](https://example.org/#b) [c](#a-b-c)\n<!-- quotes docs/a.cpp -->\n```cpp\nint a;\n```\n"
        (root / "README.md").write_text(good)
        promised = {"README.md": "docs/a.cpp"}
        assert check(root, promised) == [], check(root, promised)

        for bad, complaint in (
                (good.replace("int a", "int b"), "is not docs/a.cpp any more"),
                (good.replace("```cpp", "\n```cpp"), "not followed"),
                (good.replace("quotes docs/a.cpp", "quotes docs/b.cpp"), "quotes docs/b.cpp, which is not there"),
                (good.replace("(docs/a.cpp)", "(docs/b.cpp#there)"), "links to docs/b.cpp"),
                (good.replace("(#a-b-c)", "(README.md#a-b)"), "links to README.md#a-b"),
                ("", "should quote docs/a.cpp")):
            (root / "README.md").write_text(bad)
            problems = check(root, promised)
            assert any(complaint in problem for problem in problems), (bad, problems)
        (root / "tests/package").mkdir(parents=True)
        (root / DOORS_PAGE).write_text("| `quern/a.hpp` | an a |\n")
        for includes, count in (("#include <quern/a.hpp>\n", 0), ("#include <quern/b.hpp>\n", 2), ("", 1)):
            (root / DOORS_TEST).write_text(includes)
            assert len(check_front_doors(root)) == count, (includes, check_front_doors(root))
        (root / "docs/design").mkdir()
        for stated, count in (("int a", 0), ("int b", 1)):
            (root / PROMISES_PAGE).write_text(f'| a | b | "{stated}" ([a.cpp](../a.cpp)) |\n')
            assert len(check_promises(root)) == count, (stated, check_promises(root))
        (root / PROMISES_PAGE).write_text("none\n")
        assert check_promises(root)
    print("check_docs: finds what it should")


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    problems = check(root) + check_front_doors(root) + check_promises(root)
    print("\n".join(problems) or "every quotation, link and promise holds")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
