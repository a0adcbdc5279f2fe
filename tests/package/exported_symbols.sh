#!/usr/bin/env bash
# exported_symbols.sh LIBRARY...: fails unless each shared library exports symbols, and only symbols of the namespace
# driverupgrade, including its vtables and type information. The C interface may export only the functions of its
# header.
set -euo pipefail

ours='^((typeinfo|typeinfo name|vtable|VTT|guard variable|(non-)?virtual thunk|covariant return thunk) (for|to) )?driverupgrade::'
failed=0
for library in "$@"; do
  # A demangled template function starts with its return type, whereas its mangled name starts with its namespace. `A`
  # marks symbols that contain the version.
  symbols=$(nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }')
  [ -n "$symbols" ] || { echo "$library: exports nothing" >&2; failed=1; continue; }
  case $(basename "$library") in
    libdriverupgrade_c.so*) foreign=$(grep -v '^du_' <<<"$symbols" || true) ;;
    *) foreign=$(grep -vE '^_ZN[KRO]*13driverupgrade' <<<"$symbols" | c++filt | grep -vE "$ours" || true) ;;
  esac
  if [ -n "$foreign" ]; then
    echo "$library: exports $(wc -l <<<"$foreign") symbols that are not ours, such as" >&2
    head -n 5 <<<"$foreign" >&2
    failed=1
  fi
  echo "$(basename "$library"): $(wc -l <<<"$symbols") symbols"
done
exit $failed
