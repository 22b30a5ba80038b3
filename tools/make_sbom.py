#!/usr/bin/env python3
"""usage: tools/make_sbom.py <static program>
Writes what the program consists of, as SPDX 2.3 (https://spdx.github.io/spdx-spec/v2.3): names, versions, licences. Versions are
those of the Debian packages that it was built with."""

import datetime
import hashlib
import json
import pathlib
import re
import subprocess
import sys

# name: (pattern of the Debian package, licence)
PARTS = {
    "boost": (r"libboost[0-9.]*-dev", "BSL-1.0"),
    "openssl": (r"libssl-dev", "Apache-2.0"),
    "simdjson": (r"libsimdjson-dev", "Apache-2.0"),
    "fmt": (r"libfmt-dev", "MIT"),
    "spdlog": (r"libspdlog-dev", "MIT"),
    "cli11": (r"libcli11-dev", "BSD-3-Clause"),
    "tomlplusplus": (r"libtomlplusplus-dev", "MIT"),
    "sqlite": (r"libsqlite3-dev", "blessing"),
    "libstdc++": (r"libstdc\+\+-[0-9]+-dev", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    "glibc": (r"libc6-dev", "LGPL-2.1-or-later"),
}


def said(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def part(name, version, licence):
    return {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "name": name, "versionInfo": version,
            "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION",
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False}


def main():
    program = pathlib.Path(sys.argv[1])
    version = said(program, "--version").split()[1]
    installed = dict(line.split("\t") for line in said("dpkg-query", "--show", "--showformat=${Package}\t${Version}\n").splitlines())
    quern = part("quern", version, "Apache-2.0")
    quern["checksums"] = [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(program.read_bytes()).hexdigest()}]
    parts = [quern]
    for name, (package, licence) in PARTS.items():
        found = [installed[one] for one in installed if re.fullmatch(package, one)]
        if not found:
            sys.exit(f"{name}: no package {package} is installed")
        parts.append(part(name, max(found), licence))
    commit = said("git", "rev-parse", "HEAD").strip()
    at = datetime.datetime.fromtimestamp(int(said("git", "log", "-1", "--format=%ct")), datetime.timezone.utc)
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-quern")]
    relations += [("SPDXRef-quern", "STATIC_LINK", one["SPDXID"]) for one in parts[1:]]
    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"quern-{version}",
        "documentNamespace": f"https://quern.example/spdx/quern-{version}-{commit}",
        "creationInfo": {"created": at.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: tools/make_sbom.py"]},
        "packages": parts,
        "relationships": [{"spdxElementId": a, "relationshipType": how, "relatedSpdxElement": b} for a, how, b in relations],
    }, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
