from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.build import load_builder
from caretbench.build.models.build import MODELS_FILE, remember_models, with_remembered_models
from caretbench.build.models.config import BuildModelsConfig
from caretbench.errors import DataError
from caretbench.runs.plans.roles import NamedModel

DEVBENCH = load_builder("devbench")


def config(*models: NamedModel) -> BuildModelsConfig:
    return BuildModelsConfig(models={"generator": models})


def test_a_build_without_models_uses_those_of_the_folder(tmp_path: Path) -> None:
    assert with_remembered_models(DEVBENCH, tmp_path, []) == ()
    remember_models(DEVBENCH, tmp_path, config(NamedModel("a", "openai/gpt-4o"), NamedModel("mistral/x", "mistral/x")))
    kept = ("generator=a=openai/gpt-4o", "generator=mistral/x")
    assert with_remembered_models(DEVBENCH, tmp_path, []) == kept
    assert with_remembered_models(DEVBENCH, tmp_path, ["generator=openai/o"]) == ("generator=openai/o",)
    assert with_remembered_models(load_builder("c3bench"), tmp_path, []) == ()


@pytest.mark.parametrize("spec", ["command/python tool.py", "gguf/model.gguf", "server/m@http://10.0.0.9", "hf/x"])
def test_a_folder_names_no_program_file_or_address(tmp_path: Path, spec: str) -> None:
    remember_models(DEVBENCH, tmp_path, config(NamedModel("a", spec)))
    assert not (tmp_path / MODELS_FILE).exists()
    (tmp_path / MODELS_FILE).write_text(f'["generator=a={spec}"]')
    with pytest.raises(DataError, match=r"/models\.json: .*hosted models"):
        with_remembered_models(DEVBENCH, tmp_path, [])


@pytest.mark.parametrize("text", ["{}", "[1]", "[", '["no model"]'])
def test_a_malformed_list_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / MODELS_FILE).write_text(text)
    with pytest.raises(DataError, match=r"models\.json"):
        with_remembered_models(DEVBENCH, tmp_path, [])
