#!/usr/bin/env python3
"""doxygen_filter.py HEADER: prints a header as Doxygen likes to read it; the header itself stays as it is.

A docstring may end in paragraphs of which each begins with a word or two and at least two blanks:

    /// Fails with    errc::invalid_option  one cannot work, by name
    ///               errc::stopped         the drain has ended
    /// Cancellation  none.

Such words become heads, and the aligned terms behind them a list. A docstring that stands before the includes is that of the
file. Names of pages, as docs/guide/handlers.md, become links to them. Lines stay where they are, so that Doxygen names the right
ones.

       doxygen_filter.py --self-test  check the filter
"""

import re
import sys

DOCSTRING = re.compile(r"^(\s*)///(?!<)(.*)$")
HEAD = re.compile(r"^ ([A-Za-z0-9_][^\s.;:(]*(?:[ ,][^\s.;:(]+){0,3})( {2,})(\S.*)$")
TERM = re.compile(r"^([a-z_]\w*(?:(?:::|\.)\w+)*(?:, [\w:]+)*)( {2,})(\S.*)$")
PAGE = re.compile(r"\bdocs/([\w/-]+)\.md\b")
COMMAND = re.compile(r"([@#])(?=[\w:])")  # what Doxygen would take for a command, or a link
OTHERS_RUN = re.compile(r"\bio_context::run\(\)")  # it would lead to a run() of ours
DIGITS_APART = re.compile(r"(?<=\d)'(?=\d)")  # 1'000: Doxygen 1.9.4 takes it for the beginning of a character


class Paragraphs:
    """The texts of one docstring, line by line, as Doxygen likes them."""

    def __init__(self):
        self.out = []
        self.text_at = None  # the column of the text behind a head; none outside of such a paragraph
        self.in_list = False

    def end(self):
        if self.text_at is not None:
            self.out[-1] += ("</li></ul>" if self.in_list else "") + "</dd></dl>"
        self.text_at, self.in_list = None, False

    def text(self, start, text, may_be_term):
        term = TERM.match(text)
        if term and may_be_term:
            start += "</li><li>" if self.in_list else "<ul><li>"
            self.in_list = True
            text = f"<b>{term.group(1)}</b>: {plain(term.group(3))}"
        else:
            if may_be_term and self.in_list:  # a sentence behind the list
                start += "</li></ul>"
                self.in_list = False
            text = plain(text)
        self.out.append(start + text)

    def add(self, line):
        indent = len(line) - len(line.lstrip())
        found = HEAD.match(line)
        if found and (self.text_at is None or indent < self.text_at):
            self.end()
            self.text_at = found.start(3)
            self.text(f' <dl class="section user"><dt>{found.group(1)}</dt><dd>', found.group(3), True)
        elif self.text_at is not None and line.strip() and indent >= 3:
            self.text(" ", line.strip(), indent == self.text_at)
        else:
            self.end()
            self.out.append(plain(line))


def plain(text):
    """Text without what Doxygen would take for its commands, and with links to pages."""
    parts = text.split("`")
    for at in range(0, len(parts), 2):
        part = OTHERS_RUN.sub("<tt>%io_context::%run()</tt>", COMMAND.sub(r"\\\1", parts[at]))
        parts[at] = PAGE.sub(r'<a href="../../\1.html">docs/\1.md</a>', part)
    return "`".join(parts)


def filtered(source):
    lines = source.split("\n")
    out, at, declared = [], 0, False
    while at < len(lines):
        if not DOCSTRING.match(lines[at]):
            declared = declared or bool(lines[at].strip()) and not lines[at].startswith(("#", "//"))
            code, slashes, comment = lines[at].partition("//")
            out.append(DIGITS_APART.sub("", code) + slashes + comment)
            at += 1
            continue
        first = at
        while at < len(lines) and DOCSTRING.match(lines[at]):
            at += 1
        paragraphs = Paragraphs()
        for line in lines[first:at]:
            paragraphs.add(DOCSTRING.match(line).group(2))
        paragraphs.end()
        if not declared and not lines[at].strip() and out and not out[-1].strip():
            out[-1] = "/// @file"
        margin = DOCSTRING.match(lines[first]).group(1)
        out += [f"{margin}///{text}" for text in paragraphs.out]
    return "\n".join(out)


def self_test():
    source = """#pragma once

/// Everything, see docs/guide/handlers.md.

#include <vector>

/// Drains #1.
///
/// Fails with    errc::invalid  one cannot work, by
///                              name
///               errc::stopped  it has ended
///               and as the other
/// Cancellation  none, and
///               nothing else.
///
/// More text.  Two blanks.
int drain(int = 1'000); ///< a number  of them
"""
    expected = """#pragma once
/// @file
/// Everything, see <a href="../../guide/handlers.html">docs/guide/handlers.md</a>.

#include <vector>

/// Drains \\#1.
///
/// <dl class="section user"><dt>Fails with</dt><dd><ul><li><b>errc::invalid</b>: one cannot work, by
/// name
/// </li><li><b>errc::stopped</b>: it has ended
/// </li></ul>and as the other</dd></dl>
/// <dl class="section user"><dt>Cancellation</dt><dd>none, and
/// nothing else.</dd></dl>
///
/// More text.  Two blanks.
int drain(int = 1000); ///< a number  of them
"""
    assert filtered(source) == expected, filtered(source)
    print("doxygen_filter: filters as it should")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    else:
        with open(sys.argv[1], encoding="utf-8") as header:
            sys.stdout.write(filtered(header.read()))
