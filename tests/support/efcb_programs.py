"""The same small program in every language that patches are read in, and patches made of added lines."""

from __future__ import annotations

from caretbench.build.sources.pull_request import FileChange, PullRequest

JAVASCRIPT = """\
import {{ alpha, beta }} from "alpha";
// alpha beta
function run(alpha{type}, beta{type}) {{
  note(`alpha ${{beta}}`);
  const first = alpha - beta;
  const second = alpha + beta;
  const third = [alpha, beta];
  item.gamma = beta.delta(alpha, first);
  return pick(second, third, item.delta, gamma());
}}
"""

PROGRAMS = {
    "a.go": """\
import alpha "beta/alpha"
// alpha beta
func run(alpha, beta int) int {
	note("alpha beta")
	first := alpha - beta
	second := alpha + beta
	third := []int{alpha, beta}
	item.gamma = beta.delta(alpha, first)
	return pick(second, third, item.delta, gamma())
}
""",
    "a.rs": """\
use alpha::beta;
// alpha beta
fn run(alpha: i32, beta: i32) -> i32 {
    note("alpha beta");
    let first = alpha - beta;
    let second = alpha + beta;
    let third = [alpha, beta];
    item.gamma = beta.delta(alpha, first);
    pick(second, third, item.delta, gamma())
}
""",
    "a.rb": """\
require "alpha"
# alpha beta
def run(alpha, beta)
  note "alpha #{beta}"
  first = alpha - beta
  second = alpha + beta
  third = [alpha, beta]
  item.gamma = beta.delta(alpha, first)
  pick(second, third, item.delta, gamma())
end
""",
    "a.py": """\
from alpha import beta
# alpha beta
def run(alpha, beta):
    note(f"alpha {beta}")
    first = alpha - beta
    second = alpha + beta
    third = {alpha, beta}
    item.gamma = beta.delta(alpha, first)
    return pick(second, third, item.delta, gamma())
""",
    "a.js": JAVASCRIPT.format(type=""),
    "a.ts": JAVASCRIPT.format(type=": number"),
    "a.tsx": JAVASCRIPT.format(type=": number"),
    "a.java": """\
import alpha.beta;
class Shop { // alpha beta
  int run(int alpha, int beta) {
    note("alpha beta");
    int first = alpha - beta;
    int second = alpha + beta;
    int[] third = {alpha, beta};
    item.gamma = beta.delta(alpha, first);
    return pick(second, third, item.delta, gamma());
  }
}
""",
    "a.cs": """\
using alpha.beta;
class Shop { // alpha beta
  int run(int alpha, int beta) {
    note("alpha beta");
    var first = alpha - beta;
    var second = alpha + beta;
    var third = new[] { alpha, beta };
    item.gamma = beta.delta(alpha, first);
    return pick(second, third, item.delta, gamma());
  }
}
""",
    "a.cpp": """\
#include "alpha.h"
// alpha beta
int run(int alpha, int beta) {
  note("alpha beta");
  auto first = alpha - beta;
  auto second = alpha + beta;
  int third[] = {alpha, beta};
  item.gamma = beta.delta(alpha, first);
  return pick(second, third, item.delta, gamma());
}
""",
}
"""By path. Line 0 imports, 1 is a comment, 2 declares, 3 holds a string; uses begin in line 4."""


def added(code: str) -> str:
    """The patch that adds a file."""
    lines = code.removesuffix("\n").split("\n")
    return f"@@ -0,0 +1,{len(lines)} @@\n" + "\n".join(f"+{line}" for line in lines)


def change(*files: tuple[str, str], sha: str = "a" * 40, repo: str = "owner/name", text: str = "") -> PullRequest:
    """A change with these files, each a path and a patch."""
    return PullRequest(
        repo=repo,
        kind="squash",
        source="git",
        title=f"run: do what {sha[:4]} says",
        description=text or f"The run of {sha[:6]} picks another one of the values than it should have.",
        base_sha="b" * 40,
        merge_sha=sha,
        merged_at="2026-08-21T20:36:59Z",
        files=tuple(FileChange(path=path, patch=patch) for path, patch in files),
    )
