"""Rendering of a change as a patch: its files without binary, renamed and generated ones."""

from __future__ import annotations

from caretbench.build.sources.changes.generated_files import is_generated
from caretbench.build.sources.pull_request import PullRequest
from caretbench.suites.efcb.patch_rendering import RenderedFile, RenderedPatch


def render_patch(pull: PullRequest, *, include_generated: bool = False) -> RenderedPatch:
    """Return the rendered patch of a change; ``include_generated`` files as in the released questions."""
    files = tuple(
        RenderedFile(
            path=file.path,
            title=f"{file.old_path} => {file.path}" if file.old_path and file.old_path != file.path else file.path,
            hunks=file.patch.replace("\r\n", "\n").removesuffix("\n"),
            additions=file.additions,
            deletions=file.deletions,
        )
        for file in pull.files
        if file.patch.strip()
        and not file.binary
        # Records from elsewhere may not mark generated files.
        and (include_generated or not (file.generated or is_generated(file.path)))
    )
    return RenderedPatch(files=files)
