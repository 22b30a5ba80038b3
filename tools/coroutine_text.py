"""The text of C++ as a tree of tokens: what check_coroutines.py and coroutine_ends.py read."""

import re

TEXT = re.compile(r"""
    R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"   # raw string
  | "(?:\\.|[^"\\\n])*"
  | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'            # but not the separators of 1'000
  | //[^\n]*
  | /\*.*?\*/
  | ^[ \t]*\#(?:\\\n|[^\n])*                       # directives
""", re.VERBOSE | re.DOTALL | re.MULTILINE)
TOKEN = re.compile(r"[A-Za-z_]\w*|[0-9](?:[\w.']|(?<=[eE])[+-])*|::|->|==|!=|<=|>=|&&|\|\||<<|\+\+|--|[^\s\w]|\"")
CLOSING = {"(": ")", "[": "]", "{": "}"}


class Token:
    """A word, a number or a sign."""
    is_group = False

    def __init__(self, text, at):
        self.text, self.at = text, at


class Group:
    """A bracketed part, with everything in it."""
    is_group = True

    def __init__(self, text, at):
        self.text, self.at, self.inside = text, at, []
        self.end = at  # where its closing bracket is


class Lambda:
    """A lambda folded into one item; what is in its braces stands apart."""
    is_group = False

    def __init__(self, parts):
        """`parts` are all its items, from the captures to the body."""
        self.text, self.capture, self.at = "<lambda>", parts[0], parts[0].at
        self.is_coroutine = any(item.text.startswith("co_") for item in flat(parts[-1].inside))
        takes_exception = any(part.text == "(" and [item.text for item in part.inside[:3]] == ["std", "::", "exception_ptr"]
                              for part in parts)
        self.is_deaf = takes_exception and not parts[-1].inside  # a handler that drops the exception


def blank(text):
    """The text without comments, directives and the inside of literals; every character stays where it was."""
    def cover(match):
        found = match.group()
        gone = re.sub(r"[^\n]", " ", found)
        if found[0] in "\"'" or found.startswith('R"'):
            return '"' + gone[1:-1] + " " if len(found) > 1 else gone
        return gone
    return TEXT.sub(cover, text)


def tree(text):
    root = Group("", 0)
    open_groups = [root]
    for match in TOKEN.finditer(text):
        token, at = match.group(), match.start()
        if token in CLOSING:
            group = Group(token, at)
            open_groups[-1].inside.append(group)
            open_groups.append(group)
        elif token in ")]}":
            if len(open_groups) > 1 and CLOSING[open_groups[-1].text] == token:
                open_groups.pop().end = at
        else:
            open_groups[-1].inside.append(Token(token, at))
    return root


def is_word(item):
    return not item.is_group and re.match(r"[A-Za-z_]", item.text) is not None


def split(items, mark):
    parts = [[]]
    for item in items:
        if not item.is_group and item.text == mark:
            parts.append([])
        else:
            parts[-1].append(item)
    return parts


def flat(items):
    """The items, and those within groups; of a folded lambda its captures, which are computed in the expression around."""
    for item in items:
        yield item
        if item.is_group:
            yield from flat(item.inside)
        elif isinstance(item, Lambda):
            yield from flat(item.capture.inside)


def lambda_body(items, position):
    """The braces of a lambda whose captures stand at `position`, and where it ends; (None, _) if it is none."""
    if position > 0:
        before = items[position - 1]
        if before.text in ("(", "[", ">", '"') or (is_word(before) and before.text not in
                                                   ("return", "co_return", "co_await", "co_yield", "throw", "case")):
            return None, position
    for after in range(position + 1, len(items)):
        item = items[after]
        if item.text == "{":
            return item, after + 1
        if item.text in (";", ",", "=", "["):
            # `<class T, class U>` of a generic lambda may hold commas
            if item.text == "," and items[position + 1].text == "<":
                continue
            return None, position
    return None, position
