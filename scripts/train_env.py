"""Environment for training, .venv-train: lists what would be downloaded, and stops where that is a CUDA build.

It is apart from .venv: torch and transformers are large, and nothing but `caretbench sft train` and `hf/` needs them.
pip and not uv: uv reads no configuration of pip, so that it finds no wheel of torch for processors by itself.
$TRAIN_PIP are further arguments of pip, an index of such wheels for example.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENVIRONMENT = ROOT / ".venv-train"
PACKAGES = ["--editable", f"{ROOT}[local,train]", "pytest", "hypothesis", "respx"]


def planned_packages(report: dict[str, list[dict[str, dict[str, str]]]]) -> list[str]:
    """Return name and version of everything in a report of `pip install --dry-run`.

    Raises:
        SystemExit: a package of NVIDIA's is among them: the wheel of torch is one for CUDA, several GB large.
    """
    names = sorted(f"{one['metadata']['name']} {one['metadata']['version']}" for one in report["install"])
    if cuda := [name for name in names if name.lower().startswith("nvidia-")]:
        raise SystemExit(
            f"train-env: {len(cuda)} packages of CUDA would come ({', '.join(cuda[:3])}, …); name an index with the "
            "wheel for processors: TRAIN_PIP='--index-url ADDRESS' make train-env, or allow them: TRAIN_CUDA=1"
        )
    return names


def main() -> None:
    """Make the environment, unless it is there."""
    if not (ENVIRONMENT / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
    install = [str(ENVIRONMENT / "bin" / "python"), "-m", "pip", "install", "--quiet", *PACKAGES]
    install += os.environ.get("TRAIN_PIP", "").split()
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.json"
        subprocess.run([*install, "--dry-run", "--report", str(plan)], check=True)
        report = json.loads(plan.read_text())
    if os.environ.get("TRAIN_CUDA") != "1":
        print("train-env: " + (", ".join(planned_packages(report)) or "nothing is missing"))  # noqa: T201 - a script
    subprocess.run(install, check=True)
    (ENVIRONMENT / ".ready").touch()


if __name__ == "__main__":
    main()
