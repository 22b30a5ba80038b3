#!/usr/bin/env python3
"""Builds Quern on other distributions, with other compilers and other versions of its libraries, and runs its tests there.

Each place is a Debian root of its own, made by debootstrap in build/everywhere/<name>; needs root. What was made stays, so
that a second run is short.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time

TREE = pathlib.Path(__file__).resolve().parent.parent
ROOTS = TREE / "build" / "everywhere"

# What every place needs; {boost}: the number in the names of Boost's packages, {arch}: for which processor they are.
PACKAGES = """ca-certificates cmake ninja-build ccache python3 libcli11-dev libboost{boost}-dev{arch} libboost-json{boost}-dev{arch}
    libboost-test{boost}-dev{arch} libssl-dev{arch} libsimdjson-dev{arch} libfmt-dev{arch} libspdlog-dev{arch}
    libtomlplusplus-dev{arch} libsqlite3-dev{arch} file dpkg-dev""".split()

# name: (suite, Boost's number, more packages, CMake's arguments, what it is)
PLACES = {
    "debian-12": ("bookworm", "1.81", ["g++"], [], "g++ 12, Boost 1.81"),
    "debian-12-clang": ("bookworm", "1.81", ["clang", "libclang-rt-dev"], ["-DCMAKE_CXX_COMPILER=clang++"], "clang 14, Boost 1.81"),
    "debian-13": ("trixie", "", ["g++"], [], "g++ 14, Boost 1.83; the versions of Ubuntu 24.04 lie between this one and debian-12"),
    "debian-13-cxx23": ("trixie", "1.88", ["clang"], ["-DCMAKE_CXX_COMPILER=clang++", "-DCMAKE_CXX_STANDARD=23"],
        "clang 19 as C++23, Boost 1.88"),
    "debian-sid": ("sid", "", ["g++"], [], "the newest g++ and Boost of Debian"),
    "debian-13-shared": ("trixie", "", ["clang"], ["-DCMAKE_CXX_COMPILER=clang++", "-DBUILD_SHARED_LIBS=ON",
        "-DCMAKE_CXX_VISIBILITY_PRESET=hidden"], "clang 19, shared libraries in a project that hides symbols"),
    "debian-12-arm64": ("bookworm", "1.81", ["g++", "g++-aarch64-linux-gnu", "qemu-user-static"],
        ["-DCMAKE_TOOLCHAIN_FILE=/src/cmake/aarch64.cmake"], "g++ 12 for arm64, tests under qemu"),
    "debian-sid-clang": ("sid", "", ["clang"], ["-DCMAKE_CXX_COMPILER=clang++"], "the newest clang and Boost of Debian"),
}
PACKAGED = ["debian-12", "debian-13"] # in these packages are made, too
LIBRARIES = ["quern_libraries"]
PROGRAM = ["app_quern"]
UNIT_TESTS = ["unit_tests"]


def say(text):
    print(f"everywhere: {text}", file=sys.stderr, flush=True)


class Place:
    def __init__(self, name):
        self.name = name
        self.suite, boost, more, self.cmake, self.what = PLACES[name]
        self.foreign = "arm64" if name.endswith("arm64") else ""
        arch = f":{self.foreign}" if self.foreign else ""
        self.packages = [one.format(boost=boost, arch=arch) for one in PACKAGES] + more
        self.root = ROOTS / name
        self.log = ROOTS / f"{name}.log"

    def run(self, command, timeout=3600):
        """Runs a shell command in the root, where the tree is /src (read only) and the build folder /build."""
        inside = f"""set -e
r={shlex.quote(str(self.root))}
mkdir -p $r/src $r/build $r/root/.cache/ccache
mount --bind {shlex.quote(str(TREE))} $r/src && mount -o remount,ro,bind $r/src
mount -t proc proc $r/proc
mount --rbind /dev $r/dev
cp /etc/resolv.conf $r/etc/resolv.conf 2>/dev/null || true
exec chroot $r /bin/bash -c {shlex.quote(command)}"""
        kept = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
        environment = {key: os.environ[key] for key in kept if key in os.environ} | {
            "HOME": "/root", "LC_ALL": "C.UTF-8", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "DEBIAN_FRONTEND": "noninteractive"}
        with self.log.open("a") as log:
            log.write(f"\n=== {command}\n")
            log.flush()
            try:
                return subprocess.run(["unshare", "--mount", "bash", "-c", inside], env=environment, stdin=subprocess.DEVNULL,
                    stdout=log, stderr=log, timeout=timeout).returncode == 0
            except subprocess.TimeoutExpired:
                log.write(f"\n=== not done in {timeout} s\n")
                return False

    def made_with(self):
        """The packages that the root was made with; none, where it was not made to its end."""
        made = self.root / "made"
        return made.read_text().split() if made.exists() else None

    def prepare(self):
        if self.made_with() != self.packages:
            shutil.rmtree(self.root, ignore_errors=True)
            say(f"{self.name}: debootstrap {self.suite}")
            with self.log.open("w") as log:
                if subprocess.run(["debootstrap", "--variant=minbase", self.suite, str(self.root)], stdout=log, stderr=log).returncode:
                    return False
            # A mirror may be a snapshot, whose lists have run out.
            (self.root / "etc/apt/apt.conf.d/99quern").write_text(
                'Acquire::Check-Valid-Until "false";\nAcquire::Check-Date "false";\n')
            if self.foreign and not self.run(f"dpkg --add-architecture {self.foreign}"):
                return False
            if not self.run("apt-get -q update && apt-get -q install --yes --no-install-recommends " + " ".join(self.packages)):
                return False
            (self.root / "made").write_text(" ".join(self.packages))
        return self.run("cmake -S /src -B /build -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DQUERN_BENCH=OFF "
            "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON "
            + " ".join(self.cmake))

    def build(self, targets):
        return self.run(f"cmake --build /build --parallel {os.cpu_count()} --target {' '.join(targets)} -- -k 0")

    def syntax(self):
        """Looks at every unit of libraries and program that is not compiled yet, without making code of it."""
        build = self.root / "build"
        commands = []
        for one in json.loads((build / "compile_commands.json").read_text()):
            command = shlex.split(one["command"])
            at = command.index("-o") # what stands behind it is from the build folder
            output = command[at + 1]
            if not output.startswith(("lib/", "apps/")) or (build / output).exists():
                continue
            del command[at:at + 2]
            commands.append(f"cd {one['directory']} && " + shlex.join([*command, "-fsyntax-only"]))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return all(list(pool.map(lambda command: self.run(command, 600), commands)))

    def packages_work(self):
        """Makes the Debian packages, and tries them in a bare root."""
        if not self.build(["quern_libraries", "quern_programs", "quern_shell_files"]):
            return False
        if not self.run("rm -rf /build/packages && cd /build && cpack"):
            return False
        with self.log.open("a") as log:
            return subprocess.run([TREE / "tools/try_packages.sh", self.root / "build/packages", self.suite], stdout=log,
                stderr=log).returncode == 0


def try_out(place, quick):
    """What is in the table: a list of (step, verdict)."""
    steps = [("configure", place.prepare),
        ("unit tests, built", lambda: place.build(UNIT_TESTS)),
        ("unit tests", lambda: place.run("ctest --test-dir /build --label-regex unit --output-on-failure"))]
    if quick:
        steps += [("libraries and program, syntax", place.syntax)]
    else:
        steps += [("libraries", lambda: place.build(LIBRARIES)), ("program", lambda: place.build(PROGRAM)),
            ("component tests", lambda: place.build(["component_tests"]) and place.run(
                "ctest --test-dir /build --label-regex component --output-on-failure"))]
        if place.name in PACKAGED:
            steps += [("packages", place.packages_work)]
    out = []
    for name, step in steps:
        began = time.monotonic()
        good = step()
        say(f"{place.name}: {name}: {'ok' if good else 'FAILS'}, {time.monotonic() - began:.0f} s")
        out.append((name, good))
        if name == "configure" and not good:
            break
    return out


def main():
    parser = argparse.ArgumentParser(prog="./dev everywhere", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these places; default: all")
    parser.add_argument("--quick", action="store_true", help="compile unit tests and what they need; of the rest, only look whether it would compile")
    parser.add_argument("--list", action="store_true", help="print the places")
    given = parser.parse_args()
    if given.list:
        for name, (*_, what) in PLACES.items():
            print(f"{name:18} {what}")
        return 0
    unknown = [name for name in given.names if name not in PLACES]
    if unknown:
        parser.error(f"there is no place {unknown[0]}; there are: {', '.join(PLACES)}")
    if os.geteuid() != 0:
        parser.error("roots can only be made, and entered, as root: sudo ./dev everywhere")
    if not shutil.which("debootstrap"):
        parser.error("debootstrap is missing: apt-get install debootstrap")

    ROOTS.mkdir(parents=True, exist_ok=True)
    failed = []
    rows = []
    for name in given.names or PLACES:
        place = Place(name)
        for step, good in try_out(place, given.quick):
            rows.append(f"| {name} | {place.what} | {step} | {'ok' if good else '**fails**'} |")
            if not good:
                failed.append(f"{name}: {step}; see {place.log.relative_to(TREE)}")
    print("| place | | step | |\n|---|---|---|---|")
    print("\n".join(rows))
    for one in failed:
        say(one)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
