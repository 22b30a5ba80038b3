"""What a query asks for, in PromQL, and what a page of metrics has of it."""

import re

SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? \S+$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
SELECTOR = re.compile(r"\b(quern_\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)(=~|!~|!=|=)"((?:[^"\\]|\\.)*)"')
GROUPING = re.compile(r"\b(?:by|on) \(([^)]*)\)")
SCRAPED = {"job", "instance"}  # labels that Prometheus adds


def shown(page):
    """{name of a sample: {label: its values}} of a page in Prometheus's text format."""
    out = {}
    for line in page.splitlines():
        if line and not line.startswith("#"):
            name, labels = SAMPLE.match(line).groups()
            values = out.setdefault(name, {})
            for label, value in LABEL.findall(labels or ""):
                values.setdefault(label, set()).add(value)
    return out


def lacking(query, page, legend=""):
    """What of the query, and of the legend of its curves, the page (see shown()) has not: a sentence each."""
    out, labels = [], set(SCRAPED)
    selectors = SELECTOR.findall(query)
    if not selectors:
        out.append(f"asks for nothing: {query}")
    for metric, matchers in selectors:
        if metric not in page:
            out.append(f"no {metric}")
            continue
        labels |= page[metric].keys()
        for label, relation, value in MATCHER.findall(matchers):
            if label in SCRAPED or "$" in value:
                known = label in SCRAPED or label in page[metric]
            else:
                known = set(value.split("|") if "~" in relation else [value]) <= page[metric].get(label, set())
            if not known:
                out.append(f'no {metric}{{{label}="{value}"}}')
    groups = [{word.strip() for word in group.split(",") if word.strip()} for group in GROUPING.findall(query)]
    out += [f"no label {label}, by which is grouped: {query}" for group in groups for label in sorted(group - labels)]
    left = set.union(*groups) if groups else labels
    out += [f"no label {label} of the legend: {query}" for label in re.findall(r"\{\{(\w+)\}\}", legend) if label not in left]
    return out
