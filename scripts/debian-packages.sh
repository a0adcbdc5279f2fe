#!/usr/bin/env bash
# debian-packages.sh FILE...: prints the installed packages whose libraries these programs load.
set -euo pipefail
ldd "$@" | awk '$2 == "=>" { print $3 } $1 ~ /^\// && /\(0x/ { print $1 }' | sort -u | while read -r library; do
  library=$(readlink -f "$library")
  dpkg -S "$library" 2>/dev/null || dpkg -S "${library#/usr}"
done | cut -d: -f1 | sort -u
