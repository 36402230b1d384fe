"""Small problems that ask something about a change: four tasks of one change, as a suite would write them."""

from __future__ import annotations

from caretbench.problem import Check, ChoiceCheck, ContextFile, CriterionCheck, NoSplice, Problem, Provenance, Question

CHANGES = {
    "cache": (
        "Title: cache: evict the oldest entry\n\nBody: The cache grew without bounds. It now drops the entry that was "
        "used longest ago once `limit` entries are held.",
        "cache/cache.go\n@@ -10,3 +10,5 @@\n func (c *Cache) Put(k string, v any) {\n"
        "+\tif len(c.entries) >= c.limit {\n+\t\tc.evictOldest()\n+\t}\n \tc.entries[k] = v\n",
        "\tif len(c.entries) >= c.limit {\n\t\tc.evictOldest()\n\t}",
    ),
    "flags": (
        "Title: cmd: accept --json\n\nBody: Scripts had to parse tables. With --json the list is printed as JSON.",
        "cmd/list.go\n@@ -3,2 +3,4 @@\n func list(w io.Writer) {\n+\tif *asJSON {\n"
        "+\t\treturn writeJSON(w, items)\n+\t}\n",
        "\tif *asJSON {\n\t\treturn writeJSON(w, items)\n\t}",
    ),
    "clock": (
        "Title: clock: use the monotonic time\n\nBody: Durations were negative after the wall clock was set back.",
        "clock/clock.go\n@@ -7,3 +7,3 @@\n func since(t time.Time) time.Duration {\n-\treturn wall() - t\n"
        "+\treturn time.Since(t)\n",
        "\treturn time.Since(t)",
    ),
}
"""Name -> title with description, patch, masked lines."""

TASKS = {"mpr-gen": "efcb-masked", "reverse-qa": "efcb-description", "reverse-qa-hallu": "efcb-claims"}


def question_problem(task: str, change: str, *, criterion: str | None = None) -> Problem:
    """One problem; ``gmcq-easy`` is a choice, which no judge sees."""
    text, patch, lines = CHANGES[change]
    added = "".join(f"+{line}\n" for line in lines.split("\n"))
    masked = task == "mpr-gen"
    checks: tuple[Check, ...] = (ChoiceCheck(correct=1),)
    if task in TASKS:
        checks = (CriterionCheck(name=criterion or TASKS[task], maximum=10),)
    question = "Describe the change." if not masked else f"Fill in [[MASK]].\n\n{text}"
    return Problem(
        id=f"efcb/{task}/{change}",
        suite="efcb",
        shown=Question(
            text=question,
            choices=("a", "b", "c", "d") if task not in TASKS else (),
            context=(ContextFile(path="patch.diff", text=patch.replace(added, "[[MASK]]\n") if masked else patch),),
        ),
        splice=NoSplice(),
        reference=lines if masked else text,
        checks=checks,
        labels={"task": task, "repository": "a/b", "language": "go", "category": task},
        cluster=f"a/b@{change}",
        provenance=Provenance(source="a/b"),
    )


def question_problems() -> list[Problem]:
    """Every task of every change, a choice among them."""
    return [question_problem(task, change) for task in ("gmcq-easy", *TASKS) for change in CHANGES]
