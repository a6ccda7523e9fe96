#!/usr/bin/env bash
# Runs every fuzz test for a time, one after another: ./fuzz.sh 60s
set -euo pipefail
cd "$(dirname "$0")"
for_how_long=${1:-60s}
grep -rl --include='*_test.go' '^func Fuzz' . | while read -r file; do
  folder=$(dirname "$file")
  sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file" | while read -r name; do
    echo "== $folder $name"
    go test "$folder" -run '^$' -fuzz "^$name\$" -fuzztime "$for_how_long"
  done
done
