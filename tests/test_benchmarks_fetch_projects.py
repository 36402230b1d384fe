from __future__ import annotations

import importlib.util
import io
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import pytest
from pydantic import ValidationError

from caretbench.build.projects.language_tables import project_tables
from caretbench.build.projects.toml_files import settings_toml
from caretbench.errors import DataError
from caretbench.execution.bundles.bundle_model import bundle_specs
from caretbench.files import sha256_file
from caretbench.projects.settings import SETTINGS_FILE, read_settings
from tests.support.git_repository import git

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "fetch_projects.py"


@pytest.fixture(scope="module")
def fetching() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fetch_projects", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def archive(path: Path, members: dict[str, str]) -> Path:
    with tarfile.open(path, "w:gz") as packed:
        for name, text in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            packed.addfile(member, io.BytesIO(text.encode()))
    return path


def test_the_table_fits_its_schema_and_names_what_there_is(fetching: ModuleType) -> None:
    table = fetching.projects()
    names = [project.name for project in table]
    assert len(names) == len(set(names))
    assert {project.language for project in table} >= {"python", "java", "javascript", "cpp"}
    assert {project.language for project in table} <= set(project_tables())
    bundles = {check.bundle for project in table for check in project.checks} - {None}
    assert bundles <= set(bundle_specs())
    for project in table:
        assert project.is_repository or project.pinned.path.endswith((".tar.gz", ".tar.xz"))
        assert all(not Path(path).is_absolute() and ".." not in path for path in project.files)


def test_settings_come_back_from_the_file_as_they_are_in_the_table(fetching: ModuleType, tmp_path: Path) -> None:
    for project in fetching.projects():
        (tmp_path / SETTINGS_FILE).write_text(settings_toml(project.settings))
        assert read_settings(tmp_path) == project.settings


def test_a_project_is_prepared_from_its_archive(fetching: ModuleType, tmp_path: Path) -> None:
    place = tmp_path / fetching.ARCHIVES
    place.mkdir()
    packed = archive(place / "some-1.tar.gz", {"some-1/lib.py": "a = 1\n"})
    project = fetching.Project(
        name="some",
        language="python",
        licence="MIT",
        source="here",
        revision="1",
        url="https://nowhere.invalid/some-1.tar.gz",
        size=packed.stat().st_size,
        sha256=sha256_file(packed),
        checks=[{"command": "python3 -m unittest", "environment": {"A": 'b "c"\\'}}],
        files={"run.sh": "\nexit\n"},
    )
    made = fetching.prepare(project, tmp_path)
    assert (made / "lib.py").read_text() == "a = 1\n"
    assert (made / "run.sh").read_text() == "exit\n"
    assert read_settings(made).checks[0].environment == {"A": 'b "c"\\'}
    assert fetching.prepare(project, tmp_path) == made
    assert project.command(made).startswith(f"caretbench build simcopilot {made} --language python")


def test_unknown_names_are_refused(fetching: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no project is named nobody"):
        fetching.main(tmp_path, ["nobody"])


def test_a_project_is_prepared_from_a_commit_and_built_without_settings(
    fetching: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = tmp_path / "origin"
    (origin / "packages/some").mkdir(parents=True)
    (origin / "packages/some/lib.js").write_text("a\n")
    git(origin, "init", "-q", "-b", "main")
    git(origin, "add", "-A")
    git(origin, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "One")
    address = "https://nowhere.invalid/some.git"
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{origin}.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", address)
    fields = {"name": "some", "language": "javascript", "licence": "MIT", "source": "here"}
    commit = git(origin, "rev-parse", "HEAD")
    project = fetching.Project(**fields, revision=commit, url=f"{address}#packages/some")
    made = fetching.prepare(project, tmp_path / "projects")
    assert [path.name for path in made.iterdir()] == ["lib.js"]
    assert project.command(made).endswith(f"{made} --language javascript --setup auto -o {made}-tasks")
    other = fetching.Project(**{**fields, "name": "other"}, url=f"{address}#packages/other", revision=commit)
    with pytest.raises(DataError, match="folder packages/other"):
        fetching.prepare(other, tmp_path / "projects")
    for wrong in ({"revision": "v1", "url": address}, {"revision": "1", "url": "https://nowhere.invalid/a.tar.gz"}):
        with pytest.raises(ValidationError):
            fetching.Project(**fields, **wrong)
