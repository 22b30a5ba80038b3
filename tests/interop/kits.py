"""What other people's software needs to run here: the toolchain, and an installation outside of the tree.

Versions are pinned beside this file: by lock files where they do not name a registry, else by exact versions.
"""
import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quern" / "interop"
LIMIT = 1200  # seconds for one step; compiling the Rust SDK takes six minutes of a core

# A machine without a way to a registry shall learn it soon.
HASTE = {
    "PIP_DEFAULT_TIMEOUT": "20", "PIP_RETRIES": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "npm_config_fetch_retries": "1", "npm_config_fetch_timeout": "30000", "npm_config_update_notifier": "false",
    "CARGO_NET_RETRY": "1", "CARGO_HTTP_TIMEOUT": "20", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false",
}


class Missing(Exception):
    """Why something cannot be had on this machine."""


@dataclass(frozen=True)
class Kit:
    name: str
    tools: tuple  # commands that must be there
    manifests: tuple  # the files that say what is fetched
    fetch: callable  # (folder) -> the commands that do, each a list
    build: callable = lambda folder: []  # and those that build our own sources
    home: Path = HERE  # where the folder with its sources is
    cache: Path = CACHE

    @property
    def folder(self):
        return self.cache / self.name

    def lacking(self):
        return [tool for tool in self.tools if not shutil.which(tool)]

    def fingerprint(self, names=("**/*",)):
        seen = hashlib.sha256()
        for file in sorted({file for name in names for file in (self.home / self.name).glob(name) if file.is_file()}):
            seen.update(str(file.relative_to(self.home)).encode() + b"\0" + file.read_bytes() + b"\0")
        return seen.hexdigest()

    def is_installed(self):
        stamp = self.folder / "stamp"
        return stamp.exists() and stamp.read_text() == self.fingerprint()

    def install(self):
        """Brings the folder up to date; raises Missing when that cannot be done here."""
        if absent := self.lacking():
            raise Missing(f"there is no {' and no '.join(absent)} on this machine")
        if self.is_installed():
            return
        shutil.copytree(self.home / self.name, self.folder, dirs_exist_ok=True)
        self.step("fetched", self.fingerprint(self.manifests), self.fetch)
        self.step("stamp", self.fingerprint(), self.build)

    def step(self, name, fingerprint, commands):
        stamp = self.folder / name
        if stamp.exists() and stamp.read_text() == fingerprint:
            return
        stamp.unlink(missing_ok=True)
        for command in commands(self.folder):
            self.run(command)
        stamp.write_text(fingerprint)

    def run(self, command):
        log = self.folder / "install.log"
        with log.open("w") as out:
            try:
                done = subprocess.run(["nice", "-n", "10", *map(str, command)], cwd=self.folder, stdout=out, timeout=LIMIT,
                                      stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env={**os.environ, **HASTE})
            except subprocess.TimeoutExpired:
                raise Missing(f"`{command[0]}` took more than {LIMIT} s; see {log}") from None
        if done.returncode != 0:
            lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
            telling = [line for line in lines if "error" in line.lower().split(":")[0]] or lines or ["it said nothing"]
            said = f"`{' '.join([Path(command[0]).name, *map(str, command[1:3])])}` failed: {telling[0][:200]}"
            raise Missing(f"{said} (all of it: {log})")


def maven(folder):
    return ["mvn", "--batch-mode", "--quiet", "dependency:copy-dependencies", "-DincludeScope=runtime",
            f"-DoutputDirectory={folder / 'lib'}"]


def venv(folder):
    return [["python3", "-m", "venv", "--clear", folder / "venv"],
            [folder / "venv/bin/pip", "install", "--quiet", "--requirement", "requirements.txt"]]


# The sources of a kit are in the folder of its name, beside this file.
KITS = {kit.name: kit for kit in (
    Kit("python", ("python3",), ("requirements.txt",), venv),
    Kit("python-old", ("python3",), ("requirements.txt",), venv),  # the query protocol; its checks are those of python
    Kit("node", ("node", "npm"), ("package*.json",), lambda at: [
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]]),
    Kit("node-old", ("node", "npm"), ("package*.json",), lambda at: [  # the query protocol; its checks are those of node
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]]),
    Kit("go", ("go",), ("go.*",), lambda at: [["go", "mod", "download"]],
        lambda at: [["go", "build", "-o", at / "checks", "."]]),
    Kit("rust", ("cargo", "cc"), ("Cargo.toml",), lambda at: [["cargo", "fetch"]],
        lambda at: [["cargo", "build", "--jobs", "1", "--target-dir", at / "target"]]),
    Kit("java", ("javac", "mvn"), ("pom.xml",), lambda at: [maven(at)], lambda at: [
        ["javac", "-encoding", "UTF-8", "-Xlint:-unchecked", "-cp", at / "lib/*", "-d", at / "classes", "Checks.java"]]),
    Kit("movers", ("node", "npm", "tar"), ("package*.json", "fetch.sh"), lambda at: [
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], ["sh", "fetch.sh"]]),
    Kit("proxies", ("apt-get", "dpkg-deb"), ("fetch.sh",), lambda at: [["sh", "fetch.sh"]]),  # of the Debian that this is
    Kit("prometheus", ("apt-get", "dpkg-deb", "python3"), ("fetch.sh", "requirements.txt"), lambda at: [["sh", "fetch.sh"], *venv(at)]),
    Kit("hook-go", ("go",), ("go.mod",), lambda at: [], lambda at: [["go", "build", "-o", at / "hook", "."]]),
    Kit("hook-node", ("node", "npm"), ("package*.json",), lambda at: [
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]]),
    Kit("hook-python", ("python3",), ("requirements.txt",), venv),
    Kit("collector", ("go",), ("go.*",), lambda at: [["go", "mod", "download"]],
        lambda at: [["go", "build", "-o", at / "collector", "."]]),
    Kit("otel-js", ("node", "npm"), ("package*.json",), lambda at: [
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]]),
    Kit("elasticmq", ("java", "mvn"), ("pom.xml",), lambda at: [maven(at)]),
    Kit("dynamodb-local", ("javac", "mvn"), ("pom.xml",), lambda at: [maven(at)], lambda at: [
        ["javac", "-cp", at / "lib/*", "-d", at / "classes", "Local.java"]]),
    Kit("powertools-js", ("node", "npm"), ("package*.json",), lambda at: [
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]]),
)}
