"""Finds coroutines that owe a result and have a path on which they end without one.

g++ 12.2 warns of that in functions and not in coroutines. Whoever awaits such a coroutine gets a result that nobody made.
"""

from coroutine_text import Group, flat, is_word, lambda_body, split

LEAVE = ("co_return", "return", "throw", "goto")
NEVER_RETURN = ("abort", "terminate", "exit", "_exit", "quick_exit", "rethrow_exception", "throw_exception",
                "throw_with_nested", "unreachable", "__builtin_unreachable", "BOOST_FAIL")


def falling_off(items):
    """Where the closing brace is of each coroutine whose end can be reached though it owes a result."""
    for position, item in enumerate(items):
        if item.text == "awaitable":
            body = body_that_owes(items, position)
            if body is not None and is_coroutine(body) and reaches_end(body.inside):
                yield body.end
        if item.is_group:
            yield from falling_off(item.inside)


def body_that_owes(items, position):
    """The braces of the function whose result is the awaitable at `position`, unless it is an awaitable<void>."""
    after = position + 1
    if after >= len(items) or items[after].text != "<":
        return None
    depth, first = 1, after + 1
    while depth > 0:
        after += 1
        if after >= len(items):
            return None
        depth += {"<": 1, ">": -1}.get(items[after].text, 0)
    if items[first].text == "void" and items[first + 1].text in (">", ","):
        return None

    before = position
    while before > 0 and (is_word(items[before - 1]) or items[before - 1].text == "::"):
        before -= 1
    has_parameters = before > 0 and items[before - 1].text == "->"
    for item in items[after + 1:]:
        if item.text == "{":
            return item if has_parameters else None
        if item.text in (";", "=", ","):
            return None
        has_parameters = has_parameters or item.text == "("
    return None


def is_coroutine(body):
    """Whether it awaits or returns like one; lambdas within it do so for themselves."""
    return any(item.text.startswith("co_") for item in flat(without_lambdas(body.inside)))


def without_lambdas(items):
    kept = []
    position = 0
    while position < len(items):
        item = items[position]
        position += 1
        if item.text == "[" and item.is_group:
            body, after = lambda_body(items, position - 1)
            if body is not None:
                position = after
                continue
        if item.is_group:
            folded = Group(item.text, item.at)
            folded.inside = without_lambdas(item.inside)
            item = folded
        kept.append(item)
    return kept


def reaches_end(items):
    position = 0
    while position < len(items):
        goes_on, position = statement(items, position)
        if not goes_on:
            return False
    return True


def statement(items, position):
    """Whether control can come out at the end of the statement that begins at `position`, and where the next one begins."""
    if position >= len(items):
        return True, position
    word = items[position].text
    if word == "{":
        return reaches_end(items[position].inside), position + 1
    if word == "[" and [item.text for item in items[position].inside[:1]] == ["["]: # an attribute
        return statement(items, position + 1)
    if word == "if":
        _, after = head(items, position)
        goes_on, after = statement(items, after)
        if after < len(items) and items[after].text == "else":
            otherwise, after = statement(items, after + 1)
            return goes_on or otherwise, after
        return True, after
    if word in ("while", "for"):
        condition, after = head(items, position)
        _, end = statement(items, after)
        return not is_endless(word, condition) or has(("break",), items[after:end]), end
    if word == "do":
        goes_on, after = statement(items, position + 1)
        body = items[position + 1:after]
        condition, end = head(items, after)
        if is_endless("while", condition):
            return has(("break",), body), end + 1
        return goes_on or has(("break", "continue"), body), end + 1
    if word == "switch":
        _, after = head(items, position)
        if after >= len(items) or items[after].text != "{":
            return True, after
        return switch_reaches_end(items[after].inside), after + 1
    if word == "try":
        goes_on, after = statement(items, position + 1)
        while after < len(items) and items[after].text == "catch":
            caught, after = statement(items, after + 2)
            goes_on = goes_on or caught
        return goes_on, after
    if word in ("case", "default"):
        while position < len(items) and items[position].text != ":":
            position += 1
        return statement(items, position + 1)

    end = position
    while end < len(items) and items[end].text != ";":
        end += 1
    return not (word in LEAVE or never_returns(items[position:end])), end + 1


def head(items, position):
    """What is in the parentheses of an if or a loop, and what comes after them."""
    while position < len(items) and items[position].text != "(":
        position += 1
    return (items[position].inside if position < len(items) else []), position + 1


def is_endless(loop, condition):
    if loop == "for":
        parts = split(condition, ";")
        return len(parts) == 3 and not parts[1]
    return [item.text for item in condition] in (["true"], ["1"])


def never_returns(items):
    for before, item in zip(items, items[1:]):
        if item.text == "(":
            return before.text in NEVER_RETURN
        if not (is_word(before) or before.text == "::"):
            return False
    return False


def switch_reaches_end(items):
    labels = [position for position, item in enumerate(items) if item.text in ("case", "default")]
    if not any(items[position].text == "default" for position in labels) or has(("break",), items):
        return True
    # each label is a way in, so what stands after the last one decides
    return reaches_end(items[labels[-1]:])


def has(words, items):
    """Whether one of the words stands there, and not for a loop or a switch within."""
    position = 0
    while position < len(items):
        item = items[position]
        if item.text in words:
            return True
        if item.text in ("while", "for", "switch", "do"):
            _, position = statement(items, position)
            continue
        if item.is_group and has(words, item.inside):
            return True
        position += 1
    return False
