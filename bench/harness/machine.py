"""What the operating system knows: CPU and memory of a group of processes, and what machine this is."""
import os
import platform
import resource
from pathlib import Path

TICK = 1 / os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGESIZE")
PROC = Path("/proc")


def read(path):
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""


def stat_of(pid):
    """The fields of /proc/PID/stat behind the name, which may contain anything: [0] is the state. Empty: it is gone."""
    return read(PROC / str(pid) / "stat").rpartition(")")[2].split()


def members(group):
    """The processes of a process group: a contender and its children."""
    pids = [int(entry) for entry in os.listdir(PROC) if entry.isdigit()]
    return [pid for pid in pids if (fields := stat_of(pid)) and int(fields[2]) == group]


class Usage:
    """CPU seconds of a process group, from one moment to another.

    The scheduler counts nanoseconds for each thread but forgets threads that ended; the ticks of a process (10 ms) include
    them. Whichever is more is nearer to the truth.
    """

    def __init__(self, group):
        self.group = group
        self.exact, self.user, self.kernel = self.read()

    def read(self):
        exact, user, kernel = {}, 0, 0
        for pid in members(self.group):
            for task in (PROC / str(pid) / "task").glob("*"):
                if told := read(task / "schedstat"):
                    exact[task.name] = int(told.split()[0])
            if fields := stat_of(pid):
                user += int(fields[11]) + int(fields[13])
                kernel += int(fields[12]) + int(fields[14])
        return exact, user, kernel

    def spent(self):
        """(CPU seconds, the kernel's share of them) since it was made."""
        exact, user, kernel = self.read()
        precise = sum(now - self.exact.get(task, 0) for task, now in exact.items()) / 1e9
        user, kernel = user - self.user, kernel - self.kernel
        return max(precise, (user + kernel - 2) * TICK), kernel / max(1, user + kernel)


def resident(group):
    """Bytes of memory that the group holds."""
    return sum(int(told.split()[1]) * PAGE for pid in members(group) if (told := read(PROC / str(pid) / "statm")))


class Others:
    """CPU seconds that the whole machine was busy: more than ours means that somebody disturbed the measurement."""

    def __init__(self):
        self.began = self.busy()

    @staticmethod
    def busy():
        fields = [int(field) for field in read(PROC / "stat").split("\n")[0].split()[1:]]
        return (sum(fields[:8]) - fields[3] - fields[4]) * TICK  # all but idle and waiting for disks; guests are in user

    def seconds(self, ours):
        return max(0.0, self.busy() - self.began - ours)


def cores():
    return sorted(os.sched_getaffinity(0))


def pins(threads):
    """(cores of the server, cores of a client with so many threads, what to say of it).

    The server has the first core; a client those behind it, and shares the server's when there are too few.
    """
    there = cores()
    if len(there) == 1:
        return there, there, "server and client share the only core"
    if len(there) > threads:
        return there[:1], there[1:1 + threads], ""
    return there[:1], there[:threads], "client and server share a core"


def allow_sockets():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def description():
    model = next((line.split(":", 1)[1].strip() for line in read(PROC / "cpuinfo").splitlines()
                  if line.startswith("model name")), platform.machine())
    memory = next((int(line.split()[1]) // 1024 for line in read(PROC / "meminfo").splitlines()
                   if line.startswith("MemTotal")), 0)
    system = next((line.split("=", 1)[1].strip('"') for line in read(Path("/etc/os-release")).splitlines()
                   if line.startswith("PRETTY_NAME")), platform.system())
    return {"cpu": model, "cores": len(cores()), "memory_mib": memory, "kernel": platform.release(), "system": system}
