#!/usr/bin/env bash
# Builds the documentation site: all pages, with search, and the API reference from the public headers. Treats warnings
# as errors. Needs Doxygen and MkDocs: scripts/install-deps.sh --docs.
#   docs.sh [DIRECTORY]: writes the site into DIRECTORY (default: build/docs); its first page is
#   DIRECTORY/html/index.html
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:-build/docs}
for tool in doxygen mkdocs; do
  command -v "$tool" >/dev/null || { echo "docs.sh: $tool is missing: scripts/install-deps.sh --docs installs it" >&2; exit 1; }
done
rm -rf "$folder/pages" "$folder/html"
mkdir -p "$folder/pages/api"
(cat docs/Doxyfile; printf 'OUTPUT_DIRECTORY = "%s"\nHTML_OUTPUT = .\n' "$folder/pages/api") | doxygen -
scripts/site.py "$folder"
mkdocs build --quiet --strict --config-file "$folder/mkdocs.yml"
