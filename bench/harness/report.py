"""The report: one HTML file that needs nothing else, and the section of a page in docs/."""
import html
from pathlib import Path

from . import tables
from .figures import figures
from .results import summary as summary_of
from .targets import verdicts as verdicts_of

BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"

STYLE = """
:root { color-scheme: light dark; --ink: #24292f; --paper: #fff; --faint: #d0d7de; --shade: #f6f8fa }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --faint: #30363d; --shade: #161b22 } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 1100px;
  margin: 2rem auto; padding: 0 1rem }
.table { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px }
th, td { border-bottom: 1px solid var(--faint); padding: 4px 12px 4px 0; text-align: left; white-space: nowrap }
td:last-child { white-space: normal } th { font-weight: 600 } h2 { margin-top: 2.5rem }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(440px, 1fr)); gap: 1rem }
svg { border: 1px solid var(--faint); border-radius: 6px; width: 100%; height: auto }
code { background: var(--shade); padding: 0 4px } .note { opacity: .8 }
"""

READING = (
    "A row is the median of its rounds, with the least and the most in brackets; the rounds of all contenders take turns. "
    "CPU is that of the contender's processes as the operating system counts it, the kernel's work for its sockets included; "
    "messages are those that the server saw deleted. Compare within a table: the figures of another machine, or of another "
    "day, are others. A row with a remark is not to be relied on.")


def pieces(result):
    """What every form of the report consists of."""
    summary = summary_of(result["runs"])
    return summary, verdicts_of(summary, result["machine"]["cores"]), figures(summary)


def absent_lines(result):
    return [f"{one['name']} is absent: {one['why']}" for one in result["absent"]]


def heading(result):
    kind = "quick run" if result["quick"] else "full run"
    return f"{result['date']}, {kind} of {result['minutes']:.0f} minutes: `{result['command']}`"


def as_text(result):
    summary, verdicts, _ = pieces(result)
    parts = [tables.machine(result)]
    for scenario, table in tables.of_summary(summary):
        parts.append(f"{scenario.name}: {scenario.title}\n\n{tables.text(table)}")
    parts.append(tables.text(tables.of_verdicts(verdicts)))
    return "\n\n".join(parts + absent_lines(result)) + "\n"


def as_html(result):
    summary, verdicts, drawn = pieces(result)
    out = ["<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
           f"<title>Quern: benchmarks of {html.escape(result['date'])}</title><style>{STYLE}</style>",
           "<h1>Consumers of SQS, measured</h1>",
           f"<p>{html.escape(heading(result))}<br>{html.escape(tables.machine(result))}</p><p>{html.escape(READING)}</p>",
           "<h2>Targets</h2>", tables.as_html(tables.of_verdicts(verdicts)),
           "<h2>Plots</h2><div class=plots>", *drawn.values(), "</div>", "<h2>Results</h2>"]
    for scenario, table in tables.of_summary(summary):
        out.append(f"<h3>{html.escape(scenario.name)}: {html.escape(scenario.title)}</h3>{tables.as_html(table)}")
    out.append("<h2>Contenders</h2>" + tables.as_html(tables.of_contenders(result)))
    out += [f"<p>{html.escape(one)}</p>" for one in absent_lines(result)]
    return "\n".join(out) + "\n"


def section(result, folder):
    """The Markdown between the markers of a page; `folder` is where its plots are, as the page sees it."""
    summary, verdicts, drawn = pieces(result)
    parts = [f"{heading(result)}.\n\n{tables.machine(result)}.", "### Targets", tables.markdown(tables.of_verdicts(verdicts)),
             "### Plots", "\n".join(f"![{name}]({folder}/{name}.svg)" for name in drawn), "### Results"]
    for scenario, table in tables.of_summary(summary):
        parts.append(f"**{scenario.name}**: {scenario.title}\n\n{tables.markdown(table)}")
    parts += ["### Contenders", tables.markdown(tables.of_contenders(result))]
    parts += [f"{one}." for one in absent_lines(result)]
    return "\n\n".join(parts)


def write_page(result, page):
    """Replaces what stands between the markers, and writes the plots into a folder of the page's name."""
    page = Path(page)
    text = page.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, behind = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} has no {BEGIN} … {END}")
    folder = page.with_suffix("")
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    _, _, drawn = pieces(result)
    for name, svg in drawn.items():
        (folder / f"{name}.svg").write_text(svg + "\n")
    page.write_text(f"{before}{BEGIN}\n\n{section(result, folder.name)}\n\n{END}{behind}")
