#!/usr/bin/env bash
# Set-up, then the tests; --all adds the long matrix. The last line reads
# "N passed, N failed[, N skipped]".
set -uo pipefail
cd "$(dirname "$0")/.."

all=
for argument in "$@"; do
  case "$argument" in
    --all) all=1 ;;
    *) echo "usage: tools/test.sh [--all]" >&2; exit 2 ;;
  esac
done

bash tools/setup.sh || { echo "0 passed, 1 failed"; exit 1; }
[ -z "$all" ] || export ATTNC_TEST_ALL=1

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The suites print one line per test; counts are taken from those lines.
python3 test/run_suites.py build "$log"
