"""A project's own settings for mining."""

from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.projects.settings import SETTINGS_FILE, ProjectSettings, read_settings


def test_the_settings_of_the_file_or_the_defaults(tmp_path: Path) -> None:
    assert read_settings(tmp_path) == ProjectSettings()
    (tmp_path / SETTINGS_FILE).write_text('licence = "MIT"\nexclude = ["vendor/*"]\nmost_lines = 9\n')
    settings = read_settings(tmp_path)
    assert (settings.licence, settings.exclude, settings.most_lines) == ("MIT", ("vendor/*",), 9)
    provenance = settings.provenance("shop")
    assert (provenance.source, provenance.licence) == ("shop", "MIT")


@pytest.mark.parametrize("text", ["licence = ", 'license = "MIT"\n', "most_lines = 0\n"])
def test_a_malformed_file_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / SETTINGS_FILE).write_text(text)
    with pytest.raises(DataError) as caught:
        read_settings(tmp_path)
    assert str(tmp_path / SETTINGS_FILE) in str(caught.value)
