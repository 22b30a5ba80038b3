"""What goes on, on standard error: a bar with the time left on a terminal, else a line for each run."""
import sys
import time


class Progress:
    def __init__(self, expected, stream=sys.stderr):
        """`expected`: the seconds that each step should take."""
        self.expected, self.done = list(expected), 0
        self.began = time.monotonic()
        self.stream, self.live = stream, stream.isatty()

    def left(self):
        """Seconds: what is expected of the steps to come, corrected by how the others went."""
        planned = sum(self.expected[:self.done])
        factor = (time.monotonic() - self.began) / planned if planned else 1
        return sum(self.expected[self.done:]) * factor

    def step(self, name):
        self.show(name)

    def finish(self, name, line):
        self.done += 1
        if self.live:
            self.stream.write("\r\033[K")
        share = f"[{self.done}/{len(self.expected)}]"
        self.stream.write(f"{share:>10} {name:40} {line}\n")
        self.stream.flush()

    def show(self, name):
        if not self.live:
            return
        width = 24
        filled = width * self.done // max(1, len(self.expected))
        minutes, seconds = divmod(int(self.left()), 60)
        self.stream.write(f"\r\033[K[{'#' * filled}{'.' * (width - filled)}] {minutes}:{seconds:02} left  {name}")
        self.stream.flush()
