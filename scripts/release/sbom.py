#!/usr/bin/env python3
"""Writes the SBOM of a release: SPDX 2.3 in JSON.

  sbom.py DIRECTORY URL PACKAGES
      writes the SBOM into DIRECTORY. PACKAGES contains three lists of Debian packages for each architecture:
      images-ARCH, plugin-ARCH, and build-ARCH, the packages with which the programs were compiled.
  sbom.py --check DIRECTORY
      compares the SBOM with the artifacts in DIRECTORY, and checks its internal references.
"""
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAME = "driverupgrade"
# Files that are written after the SBOM.
NOT_LISTED = re.compile(r".*\.spdx\.json|SHA256SUMS(\.sig)?|signing-key\.pem")
# Maps each list of packages, without the architecture, to the artifacts that contain these packages.
CONTAINS = {"images": r".*-oci-{}\.tar", "plugin": r"upgradectl-.*-{}\.tar\.gz"}


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def identifier(*words):
    return "SPDXRef-" + re.sub(r"[^a-zA-Z0-9.-]", "-", "-".join(words))


def package(words, name, version, license_, location="NOASSERTION", **more):
    return {"SPDXID": identifier(*words), "name": name, "versionInfo": version, "downloadLocation": location,
            "filesAnalyzed": False, "licenseConcluded": license_, "licenseDeclared": license_, "copyrightText": "NOASSERTION",
            **more}


def purl(locator):
    return [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}]


def artefacts(folder):
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path for path in paths if not NOT_LISTED.fullmatch(path.name)}


def license_of(artefact):
    """Returns the license of an artifact. Artifacts that contain Debian packages have several licenses."""
    return "NOASSERTION" if any(re.fullmatch(pattern.format(".*"), artefact) for pattern in CONTAINS.values()) else "Apache-2.0"


def debian(listed):
    for line in listed.read_text(encoding="utf-8").splitlines():
        name, version = line.split()
        yield package(("deb", name, version), name, version, "NOASSERTION", supplier="Organization: Debian",
                      externalRefs=purl(f"pkg:deb/debian/{name}@{version}?distro=bookworm"))


def go_modules():
    for name, version in re.findall(r"^\t(\S+) (v\S+)", (ROOT / "go/go.mod").read_text(encoding="utf-8"), re.MULTILINE):
        yield package(("go", name, version), name, version, "NOASSERTION", externalRefs=purl(f"pkg:golang/{name}@{version}"))


def wasm_sources():
    """Yields an SBOM entry for each Debian source package whose code is translated into Go."""
    for digest, file in re.findall(r"^(\w{64})  (\S+)$", (ROOT / "scripts/wasm/sources.sha256").read_text("utf-8"), re.MULTILINE):
        name, version = re.match(r"([^_]+)_(.+)\.orig", file).groups()
        yield package(("source", name, version), name, version, "NOASSERTION",
                      checksums=[{"algorithm": "SHA256", "checksumValue": digest}])


def document(folder, url, lists):
    version = os.environ["RELEASE_VERSION"]
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    main = package((NAME,), NAME, version, "Apache-2.0", f"{url}/{NAME}-{version}.tar.gz", sourceInfo=f"commit {commit}")
    packages, relations = {main["SPDXID"]: main}, []

    def relate(one, kind, other):
        relation = {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
        if relation not in relations:
            relations.append(relation)

    def add(found, relation):
        for each in found:
            packages[each["SPDXID"]] = each
            relation(each["SPDXID"])

    files = artefacts(folder)
    made = {name: package(("artefact", name), name, version, license_of(name), f"{url}/{name}", packageFileName=name,
                          checksums=[{"algorithm": "SHA256", "checksumValue": sha256(path)}]) for name, path in files.items()}
    relate("SPDXRef-DOCUMENT", "DESCRIBES", main["SPDXID"])
    add(made.values(), lambda id_: relate(id_, "GENERATED_FROM", main["SPDXID"]))
    for listed in sorted(lists.iterdir()):
        kind, _, arch = listed.name.partition("-")
        holders = [made[name]["SPDXID"] for name in made if re.fullmatch(CONTAINS.get(kind, "$").format(arch), name)]
        for holder in holders:
            add(debian(listed), lambda id_, holder=holder: relate(holder, "CONTAINS", id_))
        if kind == "build":
            add(debian(listed), lambda id_: relate(id_, "BUILD_DEPENDENCY_OF", main["SPDXID"]))
    for zipped in (made[name]["SPDXID"] for name in made if name.endswith(".zip")):
        add(go_modules(), lambda id_, zipped=zipped: relate(zipped, "DEPENDS_ON", id_))
        add(wasm_sources(), lambda id_, zipped=zipped: relate(zipped, "CONTAINS", id_))
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"{NAME}-{version}",
        "documentNamespace": f"{url}/{NAME}-{version}/{commit}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: scripts/release/sbom.py"]},
        "packages": list(packages.values()), "relationships": relations}


def mistakes(folder):
    found = list(folder.glob("*.spdx.json"))
    if len(found) != 1:
        return [f"{len(found)} documents"]
    sbom = json.loads(found[0].read_text(encoding="utf-8"))
    listed = {p["packageFileName"]: p["checksums"][0]["checksumValue"] for p in sbom["packages"] if "packageFileName" in p}
    there = {name: sha256(path) for name, path in artefacts(folder).items()}
    known = [p["SPDXID"] for p in sbom["packages"]] + [sbom["SPDXID"]]
    result = [f"{name}: not in both, or with another checksum" for name in listed.keys() | there.keys()
              if listed.get(name) != there.get(name)]
    result += [f"{id_} is twice" for id_ in set(known) if known.count(id_) > 1]
    result += [f"{id_} is related, but not described" for relation in sbom["relationships"]
               for id_ in (relation["spdxElementId"], relation["relatedSpdxElement"]) if id_ not in known]
    return result


def main():
    if sys.argv[1] == "--check":
        wrong = mistakes(pathlib.Path(sys.argv[2]))
        print("\n".join(f"sbom: {mistake}" for mistake in wrong), file=sys.stderr)
        return 1 if wrong else 0
    folder, url, lists = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    text = json.dumps(document(folder, url, lists), indent=1) + "\n"
    (folder / f"{NAME}-{os.environ['RELEASE_VERSION']}.spdx.json").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
