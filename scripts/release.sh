#!/usr/bin/env bash
# Builds the release of a tag, or verifies a release. docs/releasing.md describes both.
#
#   release.sh VERSION [--sign KEYFILE] [--out FOLDER]   builds the tag vVERSION from a clean clone into FOLDER (default: build/releases/VERSION)
#   release.sh --verify FOLDER [--key FILE]              installs each artifact of FOLDER into an empty root or prefix, and runs it
#
# KEYFILE is an OpenSSL private key. FILE is the public key that users trust. RELEASE_URL is the address of the
# published artifacts. For each artifact that cannot be built or tested on this machine, prints one line with the
# reason.
set -euo pipefail
umask 022
repository=$(cd "$(dirname "$0")/.." && pwd)

usage() { sed -n '4,5s/^# *//p' "$0" >&2; exit 2; }
fail() { echo "release: $*" >&2; exit 1; }
# file PATH: prints the absolute path of an existing file.
file() { realpath --canonicalize-existing --quiet "$1" || fail "there is no $1"; }

version='' verify='' out='' RELEASE_KEY='' RELEASE_PUBLIC_KEY=''
while (($# > 0)); do
  case $1 in
    --verify | --sign | --out | --key) (($# > 1)) || usage ;;&
    --verify) verify=$(file "$2") && shift ;;
    --sign) RELEASE_KEY=$(file "$2") && shift ;;
    --out) out=$(realpath -m "$2") && shift ;;
    --key) RELEASE_PUBLIC_KEY=$(file "$2") && shift ;;
    -*) usage ;;
    *) version=$1 ;;
  esac
  shift
done
export RELEASE_KEY RELEASE_PUBLIC_KEY
cd "$repository"
[ -z "$verify" ] || exec scripts/release/verify.sh "$verify"
[ -n "$version" ] || usage

tag=v$version out=${out:-$repository/build/releases/$version} work=$repository/build/releases/work
commit=$(git rev-parse --verify --quiet "refs/tags/$tag^{commit}") || fail "the tag $tag does not exist"
scripts/install-deps.sh --release >&2 || echo "release: without these packages, some artifacts cannot be built" >&2
rm -rf "$work" "$out"
mkdir -p "$work" "$out"
git -c advice.detachedHead=false clone --quiet --depth 1 --branch "$tag" "file://$repository" "$work/source"
cd "$work/source"
[ "$(git rev-parse HEAD)" = "$commit" ] || fail "the clone is not at the commit of $tag"
scripts/release/versions.py "$version" >/dev/null
! grep -q "^## Unreleased" CHANGELOG.md || fail "CHANGELOG.md still has a section Unreleased"
# From here on, everything comes from the clone, and from packages that are installed on this machine.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH RELEASE_VERSION=$version
exec scripts/release/build.sh "$out"
