#!/usr/bin/env python3
"""make_options.py QUERN [--check]: writes docs/reference/options.md, the table of all options of the library and of the program:
out of the headers, and out of what QUERN, the program, says at --help. --check: only says whether the page is as it would be written.
"""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from make_shell_files import Command  # noqa: E402

TREE = pathlib.Path(__file__).resolve().parent.parent
PAGE = TREE / "docs/reference/options.md"

# Heading, header, structs in the order of the page.
LIBRARY = [
    ("A consumer", "consumer/options.hpp", ["consumer_options"]),
    ("`limits`, which can change while it runs", "consumer/limits.hpp", ["consumer_limits"]),
    ("`batch`, `outage`, `fifo`, `settle`, `give_up`", "consumer/options.hpp",
        ["batch_options", "outage_options", "fifo_options", "settle_options", "give_up_options"]),
    ("`limits.rate`", "policy/rate_limit.hpp", ["rate"]),
    ("`concurrency`", "policy/concurrency.hpp", ["automatic_concurrency"]),
    ("`outage.breaker`", "policy/breaker.hpp", ["breaker_options"]),
    ("`outage.flag`", "policy/flag.hpp", ["flag_options"]),
    ("Several consumers", "consumer/consumer_group.hpp", ["consumer_group_options"]),
    ("A producer", "producer/options.hpp", ["producer_options"]),
    ("A client of SQS, and `client`", "sqs/client.hpp", ["client_options"]),
    ("Any client of AWS", "aws/client_options.hpp", ["client_options"]),
    ("Each message once", "idempotency/once.hpp", ["once_options"]),
    ("Its table in DynamoDB", "idempotency/dynamodb_store.hpp", ["dynamodb_store_options"]),
    ("A relay", "relay/relay.hpp", ["relay_options"]),
    ("A relay's connections", "net/web_hook_client.hpp", ["web_hook_options"]),
    ("A redrive", "redrive/redriver.hpp", ["options"]),
    ("A server of admin pages", "admin/door.hpp", ["door_options"]),
]
MEMBER = re.compile(r"^    ((?:[\w:]+)(?:<.*>)?(?: const)?[*&]?) (\w+)(?:\{(.*)\}| = (.*))?;(?: ///< (.*))?$")
# What CLI11 makes of "N" in --help: "N:INT in [1 - 9]=5".
VALUE = re.compile(r"^(.*?)(?::(?:INT|UINT|FLOAT|TEXT))?(?: in \[([^\]]*)\])?(?:=(\S+))?$")


def cell(text):
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def shown_default(type_, braces, equals):
    if braces is not None:
        braces = braces.strip()
        number = braces.replace("'", "")
        if number.isdigit() and "milliseconds" in type_:
            number = int(number)
            return f"{number // 1000} s" if number % 1000 == 0 and number else f"{number} ms"
        return f"{number} s" if number.isdigit() and "seconds" in type_ else f"`{{{braces}}}`" if braces else ""
    if equals is not None:
        return "none" if equals == "nullptr" else f"`{equals}`"
    return "absent" if type_.startswith(("std::optional", "std::shared_ptr", "std::function")) else ""


def members(header, struct):
    """Rows of a struct: name, type, default, text."""
    lines = (TREE / "lib/quern" / header).read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if re.match(rf"struct {struct}\b.*\{{", line))
    out, doc, whole = [], [], ""
    for line in lines[start + 1:]:
        if line.startswith("};"):
            break
        if re.match(r" +///< ", line) and out: # what stands behind a member goes on
            out[-1] = (*out[-1][:3], f"{out[-1][3]} {line.strip().removeprefix('///< ')}")
            continue
        if line.strip().startswith("/// "):
            doc.append(line.strip().removeprefix("/// "))
            continue
        whole = f"{whole} {line.strip()}".strip() if whole else line
        if line and not line.rstrip().endswith((";", "}")) and "///<" not in line and "(" not in line:
            continue
        found = MEMBER.match(whole if whole.startswith("    ") else "    " + whole)
        if found:
            type_, name, braces, equals, behind = found.groups()
            out.append((name, type_, shown_default(type_, braces, equals), " ".join(doc) or behind or ""))
        whole = ""
        doc = []
    return out


def simple(type_):
    out = type_.replace("std::chrono::", "").replace("std::", "")
    return re.sub(r"^(optional|shared_ptr)<(.*)>$", r"\2", out)


def library():
    out = ["## The library", "",
        "What is absent is off. `consumer_options` and the others are structs: `validate()` says what cannot work, and every "
        "constructor refuses it by its name.", ""]
    for title, header, structs in LIBRARY:
        out += [f"### {title}", "", f"`#include <quern/{header}>`", "", "| option | type | default | |", "|---|---|---|---|"]
        for struct in structs:
            rows = members(header, struct)
            if not rows:
                raise SystemExit(f"make_options: {header}: {struct} has no members that can be read")
            before = f"{struct}::" if len(structs) > 1 else ""
            out += [f"| `{before}{one}` | `{cell(simple(type_))}` | {cell(default)} | {cell(text)} |"
                for one, type_, default, text in rows]
        out.append("")
    return out


def program(quern):
    out = ["## The program", "", "`quern COMMAND --help` says the same, with examples. A duration is `30s`, `5m`, `1h30m`; a number alone "
        "counts seconds.", ""]
    for command in Command(quern, [], "").all():
        options = [one for one in command.options if "--help" not in one.names]
        if not options:
            continue
        out += [f"### {' '.join(['quern', *command.words])}", "", "| option | |", "|---|---|"]
        for one in command.positionals + options:
            value, range_, default = VALUE.match(re.sub(r" ?(Needs|Excludes): .*| REQUIRED", "", one.value)).groups()
            name = " ".join([", ".join(one.names), value]).strip()
            more = [f"from {range_.replace(' - ', ' to ')}"] if range_ else []
            more += [f"default {default}"] if default else []
            out.append(f"| `{cell(name)}` | {cell('; '.join([one.text, *more])).replace('<', '&lt;')} |")
        out.append("")
    return out


def page(quern):
    return "\n".join(["# Options", "", "<!-- made by tools/make_options.py -->", "", *library(), *program(quern)])


def main(arguments):
    if len(arguments) not in (1, 2) or arguments[1:] not in ([], ["--check"]):
        print(__doc__)
        return 2
    wanted = page(arguments[0])
    if arguments[1:]:
        if PAGE.exists() and PAGE.read_text() == wanted:
            return 0
        print("docs/reference/options.md is not what the headers and --help say: tools/make_options.py build/release/bin/quern")
        return 1
    PAGE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
