"""What a release needs: versions that agree, consistent workflows, places to run the course."""

import json
import os
import re
import runpy
import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import colab_versions
import environment
import pytest
import yaml
from notebook_source import read_project
from test_environment import PROJECT

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
VERSION = PROJECT["version"]


TRIGGERS = {name: workflow[True] or {} for name, workflow in WORKFLOWS.items()}  # YAML's "on"


def runs(job: dict[str, Any]) -> list[str]:
    """The shell commands of a job's steps."""
    return [step["run"] for step in job.get("steps", []) if "run" in step]


# ------------------------------------------------------------------------- the versions


def test_four_files_state_one_version():
    lines = {
        "course_utils/__init__.py": r'^__version__ = "(.*)"$',
        "CITATION.cff": r"^version: (.*)$",
        "CHANGELOG.md": r"^## (\d.*)$",  # the newest that has a number
    }
    for name, line in lines.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        assert re.findall(line, text, re.MULTILINE)[0] == VERSION, name


def test_the_site_and_the_book_have_no_version_of_their_own():
    """tools/build_site.py passes that of pyproject.toml to Sphinx."""
    settings = runpy.run_path(str(ROOT / "site" / "conf.py"))
    assert not {"version", "release"} & set(settings)


@pytest.mark.skipif(os.name == "nt", reason="the workflow runs on Linux")
@pytest.mark.parametrize(
    ("tag", "changelog", "agrees"),
    [
        (f"v{VERSION}", f"# Changelog\n\n## {VERSION}\n", True),
        (VERSION + "rc1", f"## {VERSION}\n", False),
        ("v9.8.7", "## 9.8.7\n", False),
        (f"v{VERSION}", f"## Unreleased\n\n## {VERSION}\n", False),
    ],
)
def test_a_tag_has_to_be_the_version_of_the_newest_entry(tmp_path, tag, changelog, agrees):
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "CHANGELOG.md").write_text(changelog, encoding="utf-8")
    script = "\n".join(["set -o pipefail -e", *runs(WORKFLOWS["release"]["jobs"]["versions"])])
    environment = os.environ | {"GITHUB_REF_NAME": tag}
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment)
    assert (done.returncode == 0) == agrees


@pytest.mark.skipif(os.name == "nt", reason="the workflow runs on Linux")
def test_the_notes_are_the_newest_entry_with_its_sections(tmp_path):
    changelog = "# Changelog\n\n## 0.2.0\n\nNew.\n\n### Fixed\n\n- A bug.\n\n## 0.1.0\n\nOld.\n"
    (tmp_path / "CHANGELOG.md").write_text(changelog, encoding="utf-8")
    (tmp_path / "dist").mkdir()
    command = next(run for run in runs(WORKFLOWS["release"]["jobs"]["build"]) if "notes" in run)
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True)
    notes = (tmp_path / "dist" / "notes.md").read_text(encoding="utf-8")
    assert notes.strip() == "New.\n\n### Fixed\n\n- A bug."


# ------------------------------------------------------------------------- the workflows


def test_a_tag_starts_one_workflow_which_runs_every_test_before_it_publishes():
    assert TRIGGERS["release"] == {"push": {"tags": ["v*"]}}
    tagged = [name for name in WORKFLOWS if "tags" in (TRIGGERS[name].get("push") or {})]
    assert tagged == ["release"], "another workflow runs for each tag"
    jobs = WORKFLOWS["release"]["jobs"]
    called = {name: Path(job["uses"]).stem for name, job in jobs.items() if "uses" in job}
    assert called == {"test": "test", "thorough": "weekly"}
    assert all("workflow_call" in TRIGGERS[name] for name in called.values())
    for name in ("site", "publish"):
        assert set(jobs[name]["needs"]) == {*called, "build"}
    for name in (*called, "build"):
        assert jobs[name]["needs"] == "versions"


def test_a_release_attaches_the_wheel_that_first_cells_fetch():
    jobs = WORKFLOWS["release"]["jobs"]
    (moved,) = [run for run in runs(jobs["build"]) if "dist/colab/" in run]
    assert fnmatch(f"dist/colab/{read_project(ROOT).wheel}", moved.split()[1])
    assert moved.split()[2] == "dist" and "make wheel colab site book" in runs(jobs["build"])
    assert "gh release create" in runs(jobs["publish"])[0]
    assert "dist/*.whl" in runs(jobs["publish"])[0]


def test_only_the_jobs_that_publish_may_write():
    granted = {}
    for name, workflow in WORKFLOWS.items():
        assert workflow["permissions"] == {"contents": "read"}, name
        for job, settings in workflow["jobs"].items():
            if "permissions" in settings:
                granted[name, job] = settings["permissions"]
    assert granted == {
        ("release", "site"): {"pages": "write", "id-token": "write"},
        ("release", "publish"): {"contents": "write"},
    }


@pytest.mark.parametrize("name", WORKFLOWS)
def test_the_targets_jobs_and_files_that_a_workflow_names_exist(name):
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", MAKEFILE, re.MULTILINE))
    jobs = WORKFLOWS[name]["jobs"]
    for job in jobs.values():
        needs = job.get("needs", [])
        assert {*([needs] if isinstance(needs, str) else needs)} <= set(jobs)
        named = job.get("strategy", {}).get("matrix", {}).get("target", [])
        for run in runs(job):
            assert "${{" not in run.replace("${{ matrix.target }}", ""), "a name could be a command"
            command = re.match(r"make ([\w -]+?)( [A-Z_]+=.*)?$", run)
            named = [*named, *(command[1].split() if command else [])]
        assert set(named) <= targets
    for path in re.findall(r"(?<![\w./-])(?:tools|tests|\.github)/[\w./-]+\.\w+", text):
        assert (ROOT / path).is_file(), path


# ------------------------------------------------------------------------- Colab's list

PINS = "# A comment with torch==1.\ntorch==2.11.0\nnumpy==2.1.3\n"
WHEEL = "https://example.org/cu130/torch-2.12.1%2Bcu130-cp313-cp313-linux_x86_64.whl#sha256=0"


@pytest.mark.parametrize("torch", ["torch==2.12.1+cu130", "torch==2.12.1", f"torch @ {WHEEL}"])
def test_pins_get_colabs_versions_without_the_kind_of_gpu(torch):
    freeze = f"numpy==2.1.3\npytorch-x==9\n{torch}\ntorchaudio==2.0\nnumpy-x==9\n"
    assert colab_versions.updated(PINS, freeze) == PINS.replace("2.11.0", "2.12.1")


def test_what_has_changed_is_printed_and_what_lacks_is_named(tmp_path, capsys):
    pins, freeze = tmp_path / "colab.txt", tmp_path / "freeze.txt"
    pins.write_text(PINS, encoding="utf-8")
    freeze.write_text("torch==2.12.1+cu130\nnumpy==2.1.3\n", encoding="utf-8")
    colab_versions.update(freeze, pins)
    assert capsys.readouterr().out == "torch==2.11.0 is now torch==2.12.1\n"
    freeze.write_text("torch==2.13.0\n", encoding="utf-8")
    before = pins.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="numpy is not in the list"):
        colab_versions.update(freeze, pins)
    assert pins.read_text(encoding="utf-8") == before


# ------------------------------------------------------------------------- places to run it


def conda_list(path):
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_conda_with_cuda_differs_in_pytorchs_build_alone():
    cpu, cuda = conda_list("environment.yml"), conda_list("environment-cuda.yml")
    built = [f"pytorch-{build} >=2.6,<3" for build in ("cpu", "gpu")]
    assert [line for line in cpu["dependencies"] if line not in cuda["dependencies"]] == built[:1]
    cpu["dependencies"] = [built[1] if line == built[0] else line for line in cpu["dependencies"]]
    assert cuda == cpu


def test_binder_installs_what_conda_does_and_the_models():
    conda, binder = conda_list("environment.yml"), conda_list(".binder/environment.yml")
    assert binder["dependencies"].pop() == {"pip": ["-e .."]}, "the path counts from .binder"
    assert conda["dependencies"].pop() == {"pip": ["-e ."]}
    assert binder == conda
    script = ROOT / ".binder" / "postBuild"
    assert os.name == "nt" or os.access(script, os.X_OK)
    lines = script.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("#!")
    assert "--no-deps" in lines[-1] and lines[-1].endswith(f"-r {environment.MODELS}")


def test_a_development_container_installs_the_course_as_make_lab_does():
    path = ROOT / ".devcontainer" / "devcontainer.json"
    container = json.loads(path.read_text(encoding="utf-8"))
    python = [int(part) for part in container["image"].rpartition(":")[2].split(".")]
    assert environment.OLDEST <= python <= environment.NEWEST
    lab = re.search(r"^lab:\n\t\$\(IN_VENV\) (.*?) -- ", MAKEFILE, re.MULTILINE)
    assert lab and container["postCreateCommand"] == f"python3 tools/environment.py {lab[1]}"
