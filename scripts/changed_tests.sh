#!/usr/bin/env bash
# Prints the tests of the rooms that differ from a revision, uncommitted and new files included; the structure's always.
# Usage: changed_tests.sh [REVISION], by default origin/main where there is one, or else main.
set -euo pipefail
cd "$(dirname "$0")/.."
revision=${1:-$(git rev-parse --quiet --verify --abbrev-ref origin/main || echo main)}
base=$(git merge-base HEAD "$revision")
{ git diff --name-only "$base"; git ls-files --others --exclude-standard; } | sed -nE '
    s#^(src/caretbench|tests)/((suites/|build/|people/)?[a-z0-9_]+)/.*#tests/\2#p
    s#^src/caretbench/([a-z0-9_]+)\.py$#tests/test_\1.py#p
    s#^(tests/test_[a-z0-9_]+\.py)$#\1#p
    $ a tests/test_structure.py' | sort -u | while read -r tests; do
    # tests/support has no tests of its own: who changes it names the files that use it
    if [ -e "$tests" ] && [ "$tests" != tests/support ]; then echo "$tests"; fi
done
