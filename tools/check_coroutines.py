#!/usr/bin/env python3
"""Finds coroutine code that g++ 12.2 compiles wrongly, and tasks that nobody would hear fail.

The compiler destroys some temporaries of a `co_await` expression twice, and loses its way in conditions that await. The
house rule: in a statement with `co_await`, everything else has a name. The shapes, by the names that the reports use:

  condition  `if (co_await f())`, the same in while, switch, for and in test macros   GCC PR106188
             write: if (auto const ok = co_await f(); ok)
  braces     a braced temporary or argument, or `co_await` within braces              GCC PR107288
             write: build a named local and move it in; `type(...)` for a class with a constructor
  lambda     a lambda that captures by value, or a std::function made on the spot     GCC PR107288, PR100611
             write: name it first, then move it in; or capture by reference
  choice     `?:`
             write: if/else into a variable
  detached   `asio::detached`: an exception thrown under it vanishes
             write: a completion handler that records it
  unheard    `(std::exception_ptr) {}` in lib and apps, which hides exceptions as asio::detached does
             write: rethrow what can only be a bug, log what somebody else's code may throw
  captures   a coroutine lambda with captures that is called, not handed over: they are gone when it first awaits
             write: co_spawn(ex, work, ...) for co_spawn(ex, work(), ...), which keeps the lambda; or parameters
  ends       a coroutine that owes a result, and ends without one on some path
             write: a co_return there, or a throw

It reads text, not types, so it also refuses some sound code: `type{...}` is suspect unless the type is from std, though only
aggregates break. A line that must stay as it is ends in `// coroutine-ok: <reason>`.

usage: check_coroutines.py [ROOT]               check lib, apps, tests, bench, docs of the tree at ROOT
       check_coroutines.py --files FILE...      check these
       check_coroutines.py --self-test FOLDER   check the checker: in the samples in FOLDER it finds every line that says
                                                `// expect: <shape>`, and no other
"""

import re
import sys
from pathlib import Path

from coroutine_ends import falling_off
from coroutine_text import Group, Lambda, blank, flat, is_word, lambda_body, split, tree

FOLDERS = ("lib", "apps", "tests", "bench", "docs")
SAMPLES = Path("tests/lint/coroutines")

# A test may leave what ends as it likes.
UNHEARD_IN = ("lib", "apps")

HINT = {
    "condition": "co_await in a condition; name the result first",
    "braces": "braces in a statement with co_await; name the object first",
    "lambda": "a lambda capturing by value, or a std::function, in a statement with co_await; name it first",
    "choice": "?: in a statement with co_await; use if/else",
    "detached": "asio::detached hides exceptions; give a completion handler",
    "unheard": "a handler that drops the exception; rethrow it, or log it",
    "captures": "this coroutine outlives the lambda that holds its captures; hand over the lambda itself",
    "ends": "the coroutine owes a result and can get here without one; co_return or throw",
}

def is_block(group):
    """Braces around statements, not around values."""
    return any(item.text == ";" or (item.text == "{" and is_block(item)) for item in group.inside)


def opens_block(before, group):
    """Whether these braces, with `before` left of them in the statement, hold statements."""
    if not before or is_block(group):
        return True
    last = before[-1]
    if last.text in ("else", "do", "try", "const", "noexcept", "override", "final", "mutable", ":"):
        return True
    if last.text == "(":
        return True
    return before[0].text in ("namespace", "class", "struct", "union", "enum", "extern")


class Checker:
    def __init__(self):
        self.found = []
        self.lambdas = [set()]  # by block: names of coroutine lambdas with captures

    def report(self, shape, at):
        self.found.append((at, shape))

    # --- blocks and statements

    def block(self, items):
        self.lambdas.append(set())
        self.statements(items)
        self.lambdas.pop()

    def statements(self, items):
        statement = []
        position = 0
        while position < len(items):
            item = items[position]
            position += 1
            if item.text == ";":
                self.expression(statement)
                statement = []
            elif item.text == "{":
                if opens_block(statement, item):
                    self.expression(statement)
                    statement = []
                    self.block(item.inside)
                else:
                    statement.append(item)
            elif item.text == "[":
                body, after = lambda_body(items, position - 1)
                if body is None:
                    statement.append(item)
                else:
                    statement.append(Lambda(items[position - 1:after]))
                    self.block(body.inside)
                    position = after
            elif item.text in ("if", "while", "switch", "for") and self.head_of(items, position) is not None:
                self.expression(statement)
                statement = []
                head = self.head_of(items, position)
                position = head + 1
                self.control(item.text, items[head].inside)
            else:
                statement.append(item)
        self.expression(statement)

    @staticmethod
    def head_of(items, position):
        """Where the parenthesis of an if, while, switch or for is."""
        if position < len(items) and items[position].text in ("constexpr", "co_await"):
            position += 1
        if position < len(items) and items[position].text == "(":
            return position
        return None

    def control(self, keyword, items):
        parts = split(self.without_lambdas(items), ";")
        for part in parts:
            self.expression(part)
        if keyword == "for":
            tested = parts[1] if len(parts) == 3 else []
        else:
            tested = parts[-1]
        if not self.declares(tested):
            self.condition(tested)

    def condition(self, items):
        for item in flat(items):
            if item.text == "co_await":
                self.report("condition", item.at)
                return

    @staticmethod
    def declares(items):
        """`auto x = ...` or `type const& x = ...`: the condition tests a variable of its own."""
        left = []
        for item in items:
            if item.text == "=":
                break
            left.append(item)
        else:
            return False
        if len(left) < 2 or not is_word(left[-1]):
            return False
        before = left[-2]
        if not (is_word(before) or before.text in (">", "&", "*", "&&")):
            return False
        return is_word(left[0]) and all(is_word(item) or item.text in ("::", "<", ">", ",", "&", "*", "&&")
                                        for item in left)

    # --- lambdas

    def without_lambdas(self, items):
        """The items with each lambda folded into one; its body is checked as a block of its own."""
        kept = []
        position = 0
        while position < len(items):
            item = items[position]
            position += 1
            if item.text == "[" and item.is_group:
                body, after = lambda_body(items, position - 1)
                if body is not None:
                    kept.append(Lambda(items[position - 1:after]))
                    self.block(body.inside)
                    position = after
                    continue
            if item.is_group:
                folded = Group(item.text, item.at)
                folded.inside = self.without_lambdas(item.inside)
                item = folded
            kept.append(item)
        return kept

    @staticmethod
    def captures_by_value(capture):
        for part in split(capture.inside, ","):
            if part and part[0].text not in ("&", "this"):
                return True
        return False

    # --- one full expression

    def expression(self, statement):
        items = self.without_lambdas(statement)
        self.detached(items)
        everything = list(flat(items))
        if not any(item.text == "co_await" for item in everything):
            self.captures(items, False)
            return
        for item in everything:
            if item.text == "?":
                self.report("choice", item.at)
            elif isinstance(item, Lambda) and self.captures_by_value(item.capture):
                self.report("lambda", item.at)
        self.levels(items, True)

    def levels(self, items, outermost):
        for position, item in enumerate(items):
            if not outermost or position > 0:
                if [part.text for part in items[position:position + 3]] == ["std", "::", "function"]:
                    self.report("lambda", item.at)
            if not item.is_group:
                continue
            if item.text == "{" and self.suspect(items, position):
                self.report("braces", item.at)
            if item.text == "(" and position > 0 and re.fullmatch(r"[A-Z][A-Z0-9_]{2,}", items[position - 1].text):
                self.condition(item.inside)
            self.levels(item.inside, False)

    @staticmethod
    def suspect(items, position):
        """Whether these braces may make an aggregate; a type of std, or a number, makes none."""
        if any(item.text == "co_await" for item in flat(items[position].inside)):
            return True
        if items[position].inside and items[position].inside[0].text == ".":
            return True
        start = position - 1
        if start >= 0 and items[start].text == ">":
            depth = 0
            while start >= 0:
                depth += {">": 1, "<": -1}.get(items[start].text, 0)
                start -= 1
                if depth == 0:
                    break
        name = []
        while start >= 0 and (is_word(items[start]) or items[start].text == "::"):
            if name and is_word(items[start]) and name[0].text != "::":
                break
            name.insert(0, items[start])
            start -= 1
        first = name[0].text if name else ""
        numbers = ("int", "bool", "unsigned", "long", "char", "double", "float")
        return not (first in ("std", "chrono") or first in numbers or first.endswith("_t"))

    def captures(self, items, spawned):
        """Coroutine lambdas that are called where nobody awaits them in the same statement."""
        for position, item in enumerate(items):
            called = position + 1 < len(items) and items[position + 1].text == "("
            if isinstance(item, Lambda) and item.is_coroutine and item.capture.inside:
                if called:
                    self.report("captures", item.at)
                if position >= 2 and items[position - 1].text == "=":
                    self.lambdas[-1].add(items[position - 2].text)
            if called and spawned and any(item.text in names for names in self.lambdas):
                self.report("captures", item.at)
            if item.is_group:
                self.captures(item.inside, spawned or (position > 0 and items[position - 1].text == "co_spawn"))

    def detached(self, items):
        everything = list(flat(items))
        for item in everything:
            if isinstance(item, Lambda) and item.is_deaf:
                self.report("unheard", item.at)
        for before, item in zip(everything, everything[1:]):
            if item.text == "detached" and before.text == "::":
                self.report("detached", item.at)


def check(text):
    """The (line, shape) pairs found in a text."""
    checker = Checker()
    items = tree(blank(text)).inside
    checker.block(items)
    for at in falling_off(items):
        checker.report("ends", at)
    lines = text.splitlines()
    found = {(text.count("\n", 0, at) + 1, shape) for at, shape in checker.found}
    return sorted((line, shape) for line, shape in found if "// coroutine-ok:" not in lines[line - 1])


def may_be_deaf(file):
    return file.parts[0] not in UNHEARD_IN


def self_test(folder):
    samples = sorted(Path(folder).glob("*.cpp"))
    expected_at_all = set()
    wrong = []
    for sample in samples:
        text = sample.read_text(encoding="utf-8")
        expected = sorted((number, shape) for number, line in enumerate(text.splitlines(), 1)
                          for shape in re.findall(r"// expect: (\w+)", line))
        expected_at_all |= {shape for _, shape in expected}
        found = check(text)
        wrong += [f"{sample.name}:{line}: {shape} not found" for line, shape in expected if (line, shape) not in found]
        wrong += [f"{sample.name}:{line}: {shape} found, but that line is fine" for line, shape in found
                  if (line, shape) not in expected]
    if expected_at_all != set(HINT):
        wrong.append(f"no sample for: {', '.join(sorted(set(HINT) - expected_at_all))}")
    print("\n".join(wrong) or "check_coroutines: finds what it should, and no more")
    return 1 if wrong else 0


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--self-test":
        return self_test(arguments[1])
    if arguments and arguments[0] == "--files":
        files = [Path(name) for name in arguments[1:]]
    else:
        root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
        files = [file for top in FOLDERS for file in sorted((root / top).rglob("*.?pp"))
                 if not file.is_relative_to(root / SAMPLES)]
    bad = False
    for file in files:
        for line, shape in check(file.read_text(encoding="utf-8")):
            if shape == "unheard" and not arguments[:1] == ["--files"] and may_be_deaf(file.relative_to(root)):
                continue
            print(f"{file}:{line}: {shape}: {HINT[shape]}")
            bad = True
    if not bad:
        print(f"{len(files)} files, no bad shape")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
