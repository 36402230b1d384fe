"""One change of a file, put together from what git lists."""

from __future__ import annotations

import pytest

from caretbench.build.sources.git.patches import merge_type_changes
from caretbench.build.sources.pull_request import FileChange


def change(path: str, status: str, **settings: object) -> FileChange:
    return FileChange.model_validate(
        {"path": path, "status": status, "additions": 0, "deletions": 0, "patch": ""} | settings
    )


@pytest.mark.parametrize("mark", ["binary", "generated", "truncated"])
@pytest.mark.parametrize("side", [0, 1])
def test_a_file_that_became_a_link_is_one_change_with_the_marks_of_both_sides(mark: str, side: int) -> None:
    removed = change("a", "removed", deletions=2, patch="@@ -1,2 +0,0 @@\n-x\n-y", **{mark: side == 0})
    added = change("a", "added", additions=1, patch="@@ -0,0 +1 @@\n+b", **{mark: side == 1})
    other = change("c", "modified")
    merged, same = merge_type_changes([removed, added, other])
    assert getattr(merged, mark)
    assert (merged.status, merged.additions, merged.deletions) == ("changed", 1, 2)
    assert merged.patch == "@@ -1,2 +0,0 @@\n-x\n-y\n@@ -0,0 +1 @@\n+b"
    assert same == other
