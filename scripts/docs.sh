#!/usr/bin/env bash
# Makes the API reference from the public headers; a warning is an error. Needs Doxygen: scripts/install-deps.sh --docs.
#   docs.sh [FOLDER]: below build/docs if none is named; FOLDER/html/index.html is where to begin.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:-build/docs}
command -v doxygen >/dev/null || { echo "docs.sh: no doxygen: scripts/install-deps.sh --docs" >&2; exit 1; }
mkdir -p "$folder"
(cat docs/Doxyfile; echo "OUTPUT_DIRECTORY = \"$folder\"") | doxygen -
