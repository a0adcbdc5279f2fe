#!/usr/bin/env bash
# Creates an empty Conan home in CONAN_HOME, and prints the path of the program conan. The home contains the recipes of
# offline/conanfile.py, and no remotes. Conan comes from PyPI into a virtual environment below build/. Exit code 77:
# Conan cannot be installed.
set -euo pipefail
cd "$(dirname "$0")/../.."

venv=$PWD/build/conan/venv
if ! "$venv/bin/conan" --version >/dev/null 2>&1; then
  python3 -m venv "$venv" >&2
  "$venv/bin/pip" install --quiet "conan>=2.9,<3" >&2 || { echo "conan: no Conan from PyPI" >&2; exit 77; }
fi
conan() { "$venv/bin/conan" "$@"; }

rm -rf "$CONAN_HOME"
conan remote remove '*' >/dev/null 2>&1
if [ "$(conan remote list --format=json 2>/dev/null | tr -d '[:space:]')" != "[]" ]; then
  echo "conan: a remote still exists" >&2
  exit 1
fi
for name in abseil cpp-httplib cpprestsdk fmt libcurl openssl prometheus-cpp rapidjson yaml-cpp; do
  conan export packaging/conan/offline --name "$name" >/dev/null 2>&1
done
echo "$venv/bin/conan"
