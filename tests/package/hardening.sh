#!/usr/bin/env bash
# hardening.sh PROGRAM: fails unless the program was built with the protections of DRIVERUPGRADE_HARDENING.
set -euo pipefail
program=$1

require() {  # `WHAT PATTERN`: the output of readelf must match the pattern
  grep -qE "$2" <<<"$facts" || { echo "$program: no $1" >&2; exit 1; }
}
facts=$(readelf --wide --file-header --program-headers --dynamic --dyn-syms "$program")
require "random addresses" "Type:[[:space:]]+DYN"
require "relro" "GNU_RELRO"
require "immediate binding" "FLAGS_1.*NOW"
require "stack protector" "__stack_chk_fail"
