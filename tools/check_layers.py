#!/usr/bin/env python3
"""Checks that every file in lib/quern includes only what the tables in docs/design/structure.md allow its layer, and in the
consumer its room; that no header outside a folder detail/ includes one inside, and names of those inside are in a namespace
detail; and that the page lists the public headers.

usage: check_layers.py [ROOT]       check the tree at ROOT (default: the one this script is in)
       check_layers.py --self-test  check the checker
"""

import re
import sys
import tempfile
from pathlib import Path

UMBRELLA = "quern.hpp"
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def read_rows(page, kind, column_name):
    """Pairs of the first cell of each row and the names in the column, of the table that begins with these two headings."""
    column = None
    for line in page.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            column = None
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells[0] == kind and column_name in cells:
            column = cells.index(column_name)
        elif column is not None and cells[0].startswith("`"):
            yield cells[0].strip("`"), re.findall(r"`([\w/]+)`", cells[column]) if column < len(cells) else []


def read_table(page):
    """Maps each layer to the layers it may include, itself among them."""
    allowed = {}
    for layer, names in read_rows(page, "layer", "may include"):
        for name in names:
            if name not in allowed:
                raise SystemExit(f"{page}: {layer} may include {name}, which is no row above it")
        allowed[layer] = {layer, *names}
    if not allowed:
        raise SystemExit(f"{page}: no table of layers found")
    return allowed


def read_rooms(page):
    """Maps each room of the consumer to those that it may look into, itself among them."""
    allowed = {}
    for room, names in read_rows(page, "room", "may look into"):
        for name in names:
            if name not in allowed:
                raise SystemExit(f"{page}: {room} may look into {name}, which is no row above it")
        allowed[room] = {room, *names}
    if not allowed:
        raise SystemExit(f"{page}: the table of the consumer's rooms is missing")
    return allowed


def check_face(page, library):
    """The table of public headers names those that lie outside of a detail/, and no others."""
    told = {f"{layer}/{name}.hpp" for layer, names in read_rows(page, "face of", "public headers") for name in names}
    there = {str(file.relative_to(library)) for file in library.rglob("*/*.hpp") if "detail" not in file.parts}
    if not told:
        raise SystemExit(f"{page}: the table of public headers is missing")
    return ([f"lib/quern/{name}: is public, and no row of the table of public headers names it" for name in sorted(there - told)] +
            [f"lib/quern/{name}: stands in the table of public headers, and is not there" for name in sorted(told - there)])


ROOMS = Path("consumer") / "detail"
WHOLE = {"pipeline", "explainer", "group", "sharing", "stall_watch"}  # they wire the rooms, or serve the loop


def room_of(path):
    """The room of a file, given by its path within lib/quern; None outside the consumer's inside."""
    if not path.is_relative_to(ROOMS):
        return None
    rest = path.relative_to(ROOMS)
    if len(rest.parts) > 1:
        return rest.parts[0]
    return "pipeline" if rest.stem in WHOLE else "stage_context"


def check_inside(root, library):
    rooms = read_rooms(root / "docs" / "design" / "structure.md")
    problems = []
    for file in sorted(library.rglob("*.?pp")):
        where = file.relative_to(library)
        hidden = "detail" in where.parts
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            found = INCLUDE.match(line)
            if not found or not found.group(2).startswith("quern/"):
                continue
            target = Path(found.group(2)).relative_to("quern")
            if "detail" in target.parts and not hidden and file.suffix == ".hpp":
                problems.append(f"lib/quern/{where}:{number}: a header that is installed must not include {target}")
            here, there = room_of(where), room_of(target)
            if here and there and there not in rooms.get(here, set()):
                problems.append(f"lib/quern/{where}:{number}: {here} must not look into {there}")
    return problems


def included_layer(library, file, mark, name):
    """The layer that an include leads into: None for foreign headers, '' for files outside any layer."""
    if name.startswith("quern/"):
        path = library / name[len("quern/"):]
    elif mark == '"':
        path = (file.parent / name).resolve()
    else:
        return None
    if not path.is_relative_to(library):
        return None
    parts = path.relative_to(library).parts
    return parts[0] if len(parts) > 1 else ""


def check_includes(root):
    allowed = read_table(root / "docs" / "design" / "structure.md")
    library = (root / "lib" / "quern").resolve()
    problems = []
    for file in sorted(library.rglob("*.?pp")):
        where = file.relative_to(library)
        layer = where.parts[0] if len(where.parts) > 1 else ""
        if layer == "":
            if where.name != UMBRELLA:
                problems.append(f"lib/quern/{where}: belongs into a layer; only {UMBRELLA} stands outside")
            continue
        if layer not in allowed:
            problems.append(f"lib/quern/{where}: '{layer}' is not in the table of layers")
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            target = included_layer(library, file, *found.groups())
            if target == "":
                problems.append(f"lib/quern/{where}:{number}: a layer must not include <quern/{UMBRELLA}>")
            elif target is not None and target not in allowed[layer]:
                problems.append(f"lib/quern/{where}:{number}: {layer} must not include {target}")
    return problems


def opened_namespaces(text):
    """The line of each named namespace that a header opens, and the names around what stands in it. Reads layout, no C++."""
    around = []
    for number, line in enumerate(text.splitlines(), 1):
        line = re.sub(r"""//.*|"(\\.|[^"\\])*"|'(\\.|[^'\\])+'""", "", line)
        named = re.match(r"\s*(?:inline )?namespace ([\w:]+) \{", line)
        for brace in re.findall("[{}]", line):
            if brace == "{":
                around.append(named.group(1) if named else "")
            elif around:
                around.pop()
        if named:
            yield number, "::".join(filter(None, around))


def check_namespaces(library):
    problems = []
    for file in sorted(library.rglob("*.hpp")):
        where = f"lib/quern/{file.relative_to(library)}"
        text = file.read_text(encoding="utf-8")
        if "detail" in file.relative_to(library).parts:
            problems += [f"{where}:{number}: names in a folder detail/ belong into a namespace detail, not into {name}"
                         for number, name in opened_namespaces(text) if "detail" not in name.split("::")]
        else:
            problems += [f"{where}:{number}: a header that is installed must not say `using namespace`"
                         for number, line in enumerate(text.splitlines(), 1) if re.match(r"\s*using namespace\b", line)]
    return problems


def check_program(root):
    """In apps/quern all folders may use common/, and relay/ uses consume/; what stands in none of them may use all."""
    program = root / "apps" / "quern"
    problems = []
    for file in sorted(program.rglob("*/*.?pp")):
        where = file.relative_to(program)
        allowed = {where.parts[0], "common"} | ({"consume"} if where.parts[0] == "relay" else set())
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            found = INCLUDE.match(line)
            if found and found.group(1) == '"' and Path(found.group(2)).parts[0] not in allowed:
                problems.append(f"apps/quern/{where}:{number}: {where.parts[0]} must not include {found.group(2)}")
    return problems


def check(root):
    library = (root / "lib" / "quern").resolve()
    page = root / "docs" / "design" / "structure.md"
    return check_includes(root) + check_inside(root, library) + check_face(page, library) + check_namespaces(library) + \
        check_program(root)


def self_test():
    tree = {
        "docs/design/structure.md": "| layer | may include |\n|---|---|\n| `low` | |\n| `mid` | `low` |\n| `high` | `low` |\n",
        "lib/quern/quern.hpp": "#include <quern/high/h.hpp>\n",
        "lib/quern/low/a.hpp": "#include <vector>\n#include <quern/low/b.hpp>\n",
        "lib/quern/mid/m.cpp": '#include "m.hpp"\n#include <quern/low/a.hpp>\n#include "../low/b.hpp"\n',
        "lib/quern/high/h.hpp": "#include <boost/asio.hpp>\n",
    }
    bad = {
        "lib/quern/low/up.hpp": ("#include <quern/mid/m.hpp>\n", "low must not include mid"),
        "lib/quern/low/quoted.cpp": ('#include "../mid/m.hpp"\n', "low must not include mid"),
        "lib/quern/high/skip.hpp": ("\n#  include <quern/mid/m.hpp>\n", "high must not include mid"),
        "lib/quern/mid/all.hpp": ("#include <quern/quern.hpp>\n", "must not include <quern/quern.hpp>"),
        "lib/quern/odd/x.hpp": ("", "not in the table"),
        "lib/quern/stray.hpp": ("", "belongs into a layer"),
    }
    rooms = "| room | may look into |\n|---|---|\n| `stage_context` | |\n| `last` | `stage_context` |\n| `first` | `stage_context` `last` |\n"
    face = "| face of | public headers |\n|---|---|\n| `consumer` | `good` `fine` |\n"
    inside = {
        "docs/design/structure.md": "| layer | may include |\n|---|---|\n| `consumer` | |\n\n" + rooms + "\n" + face,
        "lib/quern/consumer/good.hpp": "",
        "lib/quern/consumer/fine.hpp": "namespace quern {\n}\n",
        "lib/quern/consumer/detail/stage_context.hpp": "namespace quern::detail {\nnamespace mark {\nint a{1};\n}\n}\n",
        "lib/quern/consumer/detail/last/l.hpp": "#include <quern/consumer/detail/stage_context.hpp>\n",
        "lib/quern/consumer/detail/first/f.cpp": "#include <quern/consumer/detail/last/l.hpp>\n",
        "lib/quern/consumer/face.cpp": "#include <quern/consumer/detail/stage_context.hpp>\n",
    }
    bad_inside = {
        "lib/quern/consumer/detail/last/open.hpp": ("namespace quern {\nint a;\n}\n", "belong into a namespace detail"),
        "lib/quern/consumer/detail/last/behind.hpp": (
            "namespace quern::detail {\nint f() { return '{'; } // {\n}\n}\nnamespace quern {\n}\n", "not into quern"),
        "lib/quern/consumer/detail/last/up.cpp": (
            "#include <quern/consumer/detail/first/f.hpp>\n", "last must not look into first"),
        "lib/quern/consumer/good.hpp": ("#include <quern/consumer/detail/stage_context.hpp>\n", "that is installed"),
        "lib/quern/consumer/fine.hpp": ("namespace quern {\n    using namespace detail;\n}\n", "`using namespace`"),
        "lib/quern/consumer/more.hpp": ("", "no row of the table of public headers"),
    }
    try_on(check_includes, tree, bad)
    try_on(check, inside, bad_inside)
    program = {
        "apps/quern/main.cpp": '#include "relay/relay.hpp"\n',
        "apps/quern/relay/relay.hpp": '#include "common/c.hpp"\n#include "consume/c.hpp"\n#include "relay/r.hpp"\n',
        "apps/quern/common/c.cpp": '#include "common/c.hpp"\n#include <quern/relay/r.hpp>\n',
    }
    try_on(check_program, program, {
        "apps/quern/common/c.hpp": ('#include "relay/relay.hpp"\n', "common must not include relay/relay.hpp"),
        "apps/quern/consume/c.hpp": ('#include "relay/relay.hpp"\n', "consume must not include relay/relay.hpp"),
    })
    page = inside["docs/design/structure.md"]
    for table, message in ((page.partition("\n\n")[0], "no table of layers"), (rooms, "consumer's rooms"), (face, "public headers")):
        refuse({**inside, "docs/design/structure.md": page.replace(table, "")}, message)
    print("check_layers: finds what it should")


def put(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def try_on(checks, tree, bad):
    """A tree that is right passes the checks; each bad file is the one thing that they find then."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        put(root, tree)
        assert checks(root) == [], checks(root)
        for name, (text, message) in bad.items():
            put(root, {name: text})
            problems = checks(root)
            assert len(problems) == 1 and name in problems[0] and message in problems[0], (name, problems)
            if name in tree:
                put(root, {name: tree[name]})
            else:
                (root / name).unlink()


def refuse(tree, message):
    """A tree whose page lacks a table is refused, for nothing would be checked."""
    with tempfile.TemporaryDirectory() as folder:
        put(Path(folder), tree)
        try:
            problems = check(Path(folder))
        except SystemExit as refusal:
            assert message in str(refusal), refusal
        else:
            raise AssertionError(f"a page without its table passed: {message}, {problems}")


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    problems = check(root)
    print("\n".join(problems) or "every include is within its layer's reach")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
