#!/usr/bin/env python3
"""Checks a site of static pages, which may be opened as files: every link leads to a file that is there, and to an id that the
file has; no page loads anything from another host.

usage: check_site.py FOLDER [PART]  check the site in FOLDER; between pages of its folder PART ids are not looked for, because
                                    Doxygen links to some that it does not write
       check_site.py --self-test    check the checker
"""

import re
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ELSEWHERE = re.compile(r"^(https?:)?//", re.IGNORECASE)
NO_FILE = ("data:", "mailto:", "javascript:")
STYLE_LOADS = re.compile(r"""(?:url\(\s*["']?|@import\s+["'])([^"')]+)""")
NO_LOAD = ("canonical", "next", "prev", "alternate", "license", "author")  # of <link>: what is named, and not loaded
RESERVED = ("", "__top")


class Page(HTMLParser):
    """What one page refers to, what it loads, and its ids."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.ids, self.in_style = [], [], set(), False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = {name: value or "" for name, value in attributes}
        self.ids.update(given[name] for name in ("id", "name") if name in given)
        self.in_style = tag == "style"
        if "href" in given:
            named = tag in ("a", "area") or tag == "link" and given.get("rel", "").lower() in NO_LOAD
            (self.links if named else self.loads).append(given["href"])
        for name in ("src", "data", "poster"):
            if name in given and (name != "data" or tag == "object"):
                self.loads.append(given[name])
        self.loads += [one.split()[0] for one in given.get("srcset", "").split(",") if one.strip()]
        self.loads += STYLE_LOADS.findall(given.get("style", ""))

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag):
        self.in_style = False

    def handle_data(self, data):
        if self.in_style:
            self.loads += STYLE_LOADS.findall(data)


def check(site, part=None):
    pages = {file: Page(file.read_text(encoding="utf-8", errors="replace")) for file in sorted(site.rglob("*.html"))}
    problems, count = [], 0

    def follow(file, link):
        parts = urlsplit(link)
        target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
        if site not in target.parents or not target.is_file():
            return "which is not there"
        fragment = unquote(parts.fragment)
        within = part and part in file.parents and part in target.parents
        if target in pages and not within and fragment not in RESERVED and fragment not in pages[target].ids:
            return "which has no such id"
        return None

    for file, page in pages.items():
        name = file.relative_to(site)
        for load in page.loads:
            if ELSEWHERE.match(load):
                problems.append(f"{name}: loads {load} from another host")
        for link in [*page.links, *page.loads]:
            if ELSEWHERE.match(link) or link.startswith(NO_FILE):
                continue
            count += 1
            wrong = follow(file, link)
            if wrong:
                problems.append(f"{name}: leads to {link}, {wrong}")
    for file in sorted(site.rglob("*.css")):
        for load in STYLE_LOADS.findall(file.read_text(encoding="utf-8")):
            if ELSEWHERE.match(load):
                problems.append(f"{file.relative_to(site)}: loads {load} from another host")
    return problems, len(pages), count


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder).resolve()
        good = ('<p id="here"><a href="b.html#there">b</a> <a href="#here">a</a> <a href="https://example.org/">e</a>'
                '<link rel="stylesheet" href="a.css"><img src="data:image/png;base64,AA=="></p>')
        (site / "b.html").write_text('<a name="there" href="./a.html">b</a>')
        (site / "index.html").write_text("")
        (site / "a.css").write_text("p { background: url(b.html) }")
        (site / "a.html").write_text(good)
        assert check(site) == ([], 3, 4), check(site)

        for bad, complaint in (
                (good.replace("b.html#", "c.html#"), "leads to c.html#there, which is not there"),
                (good.replace("#there", "#nowhere"), "leads to b.html#nowhere, which has no such id"),
                (good.replace("#here", "#nowhere"), "leads to #nowhere, which has no such id"),
                (good.replace("a.css", "../a.css"), "leads to ../a.css, which is not there"),
                (good.replace('href="a.css"', 'href="//example.org/a.css"'), "loads //example.org/a.css"),
                (good + '<script src="https://example.org/a.js"></script>', "loads https://example.org/a.js"),
                (good + "<style>p { background: url('https://example.org/a.png') }</style>", "loads https://example.org/a.png")):
            (site / "a.html").write_text(bad)
            problems = check(site)[0]
            assert len(problems) == 1 and complaint in problems[0], (bad, problems)
        (site / "part").mkdir()
        (site / "part/c.html").write_text('<a href="#nowhere">c</a>')
        (site / "a.html").write_text(good)
        assert len(check(site)[0]) == 1 and not check(site, site / "part")[0], check(site)
        (site / "part/c.html").write_text('<a href="../b.html#nowhere">c</a>')
        assert len(check(site, site / "part")[0]) == 1, check(site, site / "part")
        (site / "part/c.html").unlink()

        (site / "a.css").write_text('@import "https://example.org/b.css";')
        assert len(check(site)[0]) == 1, check(site)
    print("check_site: finds what it should")


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    site = Path(arguments[0]).resolve()
    problems, pages, count = check(site, site / arguments[1] if len(arguments) > 1 else None)
    print("\n".join(problems) or f"{pages} pages, {count} links: each leads somewhere, and nothing is loaded from elsewhere")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
