"""Plots as SVG, drawn here: a report has to open anywhere, without a network and without a library."""
import html
import math

INK, FAINT, PAPER = "#24292f", "#d0d7de", "#ffffff"
COLOURS = ("#0969da", "#cf222e", "#1a7f37", "#8250df", "#bf8700", "#1b9e9e", "#bc4c00", "#6e7781", "#bf3989", "#24292f",
           "#7d4e00", "#79c0ff")
WIDTH, SIDE, RIGHT = 760, 150, 190


def svg(height, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
            f'font-family="system-ui, sans-serif" font-size="13" fill="{INK}">'
            f'<rect width="{WIDTH}" height="{height}" rx="6" fill="{PAPER}"/>{"".join(parts)}</svg>')


def word(x, y, text, anchor="start", size=13, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}">'
            f"{html.escape(str(text))}</text>")


def line(x1, y1, x2, y2, colour=FAINT, width=1.0):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width}"/>')


def colour_of(name, names):
    return COLOURS[sorted(names).index(name) % len(COLOURS)]


def bars(title, rows, say, names):
    """Horizontal bars. rows: [(name, {median, least, most})]; say(median) is what stands beside a bar."""
    rows = [(name, value) for name, value in rows if value]
    if not rows:
        return None
    top, step = 44, 26
    most = max(value["most"] for _, value in rows) or 1
    room = WIDTH - SIDE - RIGHT
    parts = [word(16, 26, title, size=15, weight="600")]
    for i, (name, value) in enumerate(rows):
        y = top + i * step
        x = SIDE + room * value["median"] / most
        parts.append(word(SIDE - 8, y + 15, name, "end"))
        parts.append(f'<rect x="{SIDE}" y="{y + 3}" width="{max(1, x - SIDE):.1f}" height="16" rx="2" '
                     f'fill="{colour_of(name, names)}"/>')
        if value["most"] > value["least"]:
            parts.append(line(SIDE + room * value["least"] / most, y + 11, SIDE + room * value["most"] / most, y + 11,
                              INK, 1.5))
        parts.append(word(SIDE + room * value["most"] / most + 8, y + 15, say(value["median"])))
    return svg(top + len(rows) * step + 12, parts)


def ticks(low, high):
    """Powers of ten from below to above."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0 ** power for power in range(first, max(last, first + 1) + 1)]


class Axes:
    """Maps values to places; the vertical axis is logarithmic."""

    def __init__(self, height, places, low, high):
        self.left, self.right, self.top, self.bottom = 80, WIDTH - RIGHT, 44, height - 50
        self.places = places  # where a value of the horizontal axis lies, 0 to 1
        self.marks = ticks(low, high)

    def x(self, value):
        return self.left + (self.right - self.left) * self.places(value)

    def y(self, value):
        low, high = math.log10(self.marks[0]), math.log10(self.marks[-1])
        at = (math.log10(max(value, self.marks[0])) - low) / (high - low)
        return self.bottom - (self.bottom - self.top) * at


def lines(title, series, horizontal, marks, places, say, names):
    """Curves. series: {name: [(x, y)]}; marks: [(x, text)] on the horizontal axis; places: x to 0..1; say(y) on the other."""
    series = {name: points for name, points in series.items() if points}
    values = [y for points in series.values() for _, y in points if y > 0]
    if not values:
        return None
    height = 380
    axes = Axes(height, places, min(values), max(values))
    parts = [word(16, 26, title, size=15, weight="600")]
    for value in axes.marks:
        parts.append(line(axes.left, axes.y(value), axes.right, axes.y(value)))
        parts.append(word(axes.left - 8, axes.y(value) + 4, say(value), "end", 12))
    for value, text in marks:
        parts.append(line(axes.x(value), axes.top, axes.x(value), axes.bottom))
        parts.append(word(axes.x(value), axes.bottom + 18, text, "middle", 12))
    parts.append(word((axes.left + axes.right) / 2, height - 12, horizontal, "middle", 12))
    for i, (name, points) in enumerate(series.items()):
        colour = colour_of(name, names)
        path = " ".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if len(points) < 10:
            parts += [f'<circle cx="{axes.x(x):.1f}" cy="{axes.y(y):.1f}" r="3" fill="{colour}"/>' for x, y in points]
        y = axes.top + 10 + i * 20
        parts.append(line(axes.right + 16, y, axes.right + 38, y, colour, 3))
        parts.append(word(axes.right + 44, y + 4, name))
    return svg(height, parts)


NINES = [(0.0, "0 %"), (0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %")]


def by_nines(share):
    """Each further nine of a share is as far from the last."""
    return min(1.0, -math.log10(max(1 - share, 1e-4)) / 4)
