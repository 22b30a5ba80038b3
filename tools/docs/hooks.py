"""Hooks of mkdocs, for ./dev docs: the pages stay on disk as a code-hosting site shows them, and here become a site.

- README.md, CONTRIBUTING.md and CHANGELOG.md are pages of the site.
- A file of the tree that a page links to becomes a page of the site, with its text and the file itself behind it.
- The reference that Doxygen has made is part of the site, and `code` in a page that names something of it links there.
"""

import os
import re
import xml.etree.ElementTree
from pathlib import Path, PurePosixPath

from mkdocs.structure.files import File
from mkdocs.utils import get_relative_url

ROOT = Path(__file__).resolve().parent.parent.parent
API = ROOT / "build/docs-tools/api"
TAGS = ROOT / "build/docs-tools/api.tag"
API_AT = "reference/api/"  # in the site

# Pages outside of docs/: where each is in the site.
OUTSIDE = {"README.md": "readme.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}

WIDE = ("index.md", "reference/metrics.md", "reference/options.md")  # tables that need the place of the table of contents
STATIC = (".png", ".svg")
FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<=\]\()([^)#\s]+)((?:#[^)]*)?)(?=\))")
QUOTATION = re.compile(r"^<!-- quotes \S+ -->$", re.MULTILINE)
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".py": "python", ".toml": "toml", ".yaml": "yaml", ".json": "json",
    ".service": "ini", ".md": "markdown", ".txt": "cmake"}


# --- pages and files -------------------------------------------------------------------------------------------------

class Tree:
    """Where each file of the tree is in the site. Paths are those from the root of the tree."""

    def __init__(self):
        self.pages = {}  # path: its place in the site, as mkdocs names its source
        self.sources = {}  # the same, of files that have become pages
        self.paths = {}  # the other way round, of pages with links

    def add_page(self, path, place):
        self.pages[path] = place
        self.paths[place] = path

    def target(self, path, link):
        """The path of what a page links to; None where that is no file of the tree."""
        if "://" in link or link.startswith("mailto:"):
            return None
        target = os.path.normpath(PurePosixPath(path).parent / link)
        return target if not target.startswith("..") and (ROOT / target).exists() else None

    def place(self, target):
        if target in self.pages:
            return self.pages[target]
        if target.startswith("docs/") and target.endswith(STATIC):
            return target.removeprefix("docs/")
        return self.sources.get(target)


tree = Tree()


def links(path):
    text = FENCE.sub("", (ROOT / path).read_text(encoding="utf-8"))
    return {target for link, _ in LINK.findall(text) for target in [tree.target(path, link)] if target}


def source_page(path):
    """The page that shows a file, or lists a folder."""
    hidden = "---\nsearch: {exclude: true}\nhide: [toc]\n---\n\n"
    if (ROOT / path).is_dir():
        names = sorted(one.name for one in (ROOT / path).iterdir() if one.is_file())
        listed = [f"- [{name}]({PurePosixPath(path).name}/{name}.md)" for name in names]
        return f"{hidden}# {path}\n\n" + "\n".join(listed) + "\n"
    text = (ROOT / path).read_text(encoding="utf-8").rstrip("\n")
    language = LANGUAGES.get(PurePosixPath(path).suffix, "text")
    name = PurePosixPath(path).name
    return f"{hidden}# {path}\n\n[The file itself]({name}){{ download }}\n\n~~~~~~ {language}\n{text}\n~~~~~~\n"


def on_config(config):
    config.theme.static_templates -= {"404.html", "sitemap.xml"}  # for sites with a server


def on_files(files, config):
    for file in list(files):
        if file.is_documentation_page():
            tree.add_page(f"docs/{file.src_uri}", file.src_uri)
        elif file.src_uri.startswith("examples/"):  # below, with the pages that show them
            files.remove(file)
    for path, place in OUTSIDE.items():
        tree.add_page(path, place)
        files.append(File.generated(config, place, content=(ROOT / path).read_text(encoding="utf-8")))

    wanted = set().union(*(links(path) for path in tree.pages))
    for folder in [path for path in wanted if (ROOT / path).is_dir()]:
        wanted.update(f"{folder}/{one.name}" for one in (ROOT / folder).iterdir() if one.is_file())
    for path in sorted(path for path in wanted if tree.place(path) is None):
        tree.sources[path] = f"source/{path}.md"
        files.append(File.generated(config, f"source/{path}.md", content=source_page(path)))
        if (ROOT / path).is_file():
            files.append(File.generated(config, f"source/{path}", abs_src_path=str(ROOT / path)))

    for name in ("site.css", "iframe-worker.js"):
        files.append(File.generated(config, f"assets/quern/{name}", abs_src_path=str(ROOT / "tools/docs" / name)))
    for file in sorted(API.rglob("*")):
        if file.is_file():
            place = API_AT + file.relative_to(API).as_posix()
            files.append(File.generated(config, place, abs_src_path=str(file)))
    return files


def on_page_markdown(markdown, page, **_):
    path = tree.paths.get(page.file.src_uri)
    if path is None:
        return markdown
    if page.file.src_uri in WIDE:
        page.meta["hide"] = ["toc"]

    def moved(found):
        target = tree.target(path, found[1])
        place = target and tree.place(target)
        if not place:
            return found[0]
        return os.path.relpath(place, PurePosixPath(page.file.src_uri).parent) + found[2]

    parts = FENCE.split(QUOTATION.sub("", markdown))
    parts[::2] = [LINK.sub(moved, part) for part in parts[::2]]
    return "".join(parts)


# --- names of the reference ------------------------------------------------------------------------------------------

# Where an unqualified name is looked for first, page by page: `max_in_flight` is an option of the consumer, although
# consumer_limits has one too.
USUAL = ("quern", "quern::consumer_options", "quern::consumer", "quern::delivery")
SCOPES = {
    "guide/producing.md": ("quern::producer", "quern::producer_options", "quern"),
    "guide/connecting.md": ("quern::sqs::client_options", "quern::sqs", *USUAL),
    "guide/once.md": ("quern::idempotency", *USUAL),
    "guide/tracing.md": ("quern::tracing", *USUAL),
    "guide/simulating.md": ("quern::sim", *USUAL),
    "guide/telling.md": ("quern::observer", *USUAL),
    "design/redrive.md": ("quern::redrive", "quern"),
    "design/idempotency.md": ("quern::idempotency", "quern"),
    "design/client.md": ("quern::sqs", "quern::sqs::client_options", "quern"),
}
# Pages whose names are rather those of files of settings, of other programs, or of metrics.
QUALIFIED_ALONE = ("guide/relay.md", "guide/alarms.md", "guide/credentials.md", "guide/local-broker.md", "guide/from-",
    "reference/metrics.md", "reference/options.md", "guide/dead-letters.md", "design/structure.md", "design/servers.md", "interop.md", "benchmarks.md")
# Pages about the inside, whose functions Doxygen does not know.
INSIDE = ("design/consumer.md", "design/memory.md")
# Scopes with names that were there before: those of profiles.
OTHERS_NAMES = ("quern::aws::profile_settings",)

NAME = re.compile(r"((?:[a-z_]\w*::)*[a-z_]\w*)(\([^()']*\))?")
HEADER = re.compile(r"(?:lib/)?((?:quern/)?[\w/]+\.hpp)")
TAG = re.compile(r"(<[^>]*>)")
CLOSED = ("a", "pre", "h1", "h2", "h3", "h4", "h5", "h6")  # no link within


class Names:
    """What Doxygen knows, out of its tag file."""

    def __init__(self, root):
        self.scopes = {}  # last part of a name: {scope: (url, is it a function)}
        self.headers = {}
        for compound in root:
            kind, name, page = (compound.get("kind"), compound.findtext("name"), compound.findtext("filename"))
            if kind in ("class", "struct"):
                scope, _, last = name.rpartition("::")
                self.add(last, scope, page, False)
            if kind in ("class", "struct", "namespace"):
                for member in compound.findall("member"):
                    self.add_member(member, name)
            if kind == "file" and name.endswith(".hpp"):
                path = (compound.findtext("path") or "") + name
                self.headers[path[path.rindex("/lib/") + len("/lib/"):]] = page

    def add(self, name, scope, url, is_function):
        self.scopes.setdefault(name, {}).setdefault(scope, (url, is_function))

    def add_member(self, member, scope):
        name, kind = member.findtext("name"), member.get("kind")
        if kind == "friend" or member.get("protection") == "private":
            return
        if kind == "function" and name == scope.rpartition("::")[2]:
            return  # a constructor, which has the name of its class
        if kind == "enumvalue":
            return  # below, with the name of its enumeration
        self.add(name, scope, f"{member.findtext('anchorfile')}#{member.findtext('anchor')}", kind == "function")
        for value in member.findall("enumvalue"):
            self.add(value.text, f"{scope}::{name}", f"{value.get('file')}#{value.get('anchor')}", False)

    def find(self, text, place):
        """The page of what a text names, if it names one thing."""
        header = HEADER.fullmatch(text)
        if header:
            ends = [url for path, url in self.headers.items() if f"/{path}".endswith(f"/{header[1]}")]
            return ends[0] if len(ends) == 1 and "/" in header[1] else None
        found = NAME.fullmatch(re.sub(r"^(co_await )?d\.", "delivery::", text))
        if not found:
            return None
        name, called = found.groups()
        scope, _, last = name.rpartition("::")
        there = {where: url for where, (url, is_function) in self.scopes.get(last, {}).items()
            if called is None or is_function}
        if scope:
            exact = there.get(scope) or there.get(f"quern::{scope}")
            ends = {url for where, url in there.items() if f"::{where}".endswith(f"::{scope}")}
            return exact or (ends.pop() if len(ends) == 1 else None)
        if place.startswith(QUALIFIED_ALONE) or (called is None and "_" not in last):
            return None  # a single word may be a command, a room or a key as well
        for where in SCOPES.get(place, USUAL):
            if where in there:
                return there[where]
        anywhere = {url for where, url in there.items() if where not in OTHERS_NAMES}
        return anywhere.pop() if len(anywhere) == 1 and not place.startswith(INSIDE) else None


names = None


def jointed(name):
    """The text of a name that may break behind a joint."""
    return re.sub(r"(?<=\w)(::|[_./])(?=\w)|(?<=[a-z])(?=[A-Z])", r"\1<wbr>", name)


def linked(html, place, url):
    """The page with a link around each `code` that names one thing of the reference. In tables names may break."""
    out, closed, inside, cells = [], [], False, 0
    parts = TAG.split(html)
    for at, part in enumerate(parts):
        tag = re.match(r"<(/?)(\w+)", part) if at % 2 else None
        if tag and tag[2] in CLOSED:
            if tag[1]:
                closed.pop()
            else:
                closed.append(tag[2])
        if tag and tag[2] == "td":
            cells += -1 if tag[1] else 1
        target = None
        if part == "<code>" and not closed and parts[at + 2] == "</code>":
            target = names.find(parts[at + 1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"), place)
        if target:
            out.append(f'<a class="reference" href="{get_relative_url(API_AT + target, url)}">')
            inside = True
        in_cell = cells and at % 2 == 0 and at and parts[at - 1] == "<code>"
        out.append(jointed(part) if in_cell else part)
        if part == "</code>" and inside:
            out.append("</a>")
            inside = False
    return "".join(out)


def on_page_content(html, page, **_):
    global names
    if names is None:
        names = Names(xml.etree.ElementTree.parse(TAGS).getroot())
    if page.file.src_uri not in tree.paths:
        return html
    return linked(html, page.file.src_uri, page.url)
