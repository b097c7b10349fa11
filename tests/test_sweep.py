"""A sweep survives: killed and resumed, damaged, full, short of text, on a cluster that loses one.

The command is run as a user runs it, with models so small that a run takes less than a second.
"""

import contextlib
import errno
import io
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import distributed
import pandas as pd
import pytest
from PIL import Image

from course_experiments import extrapolation
from course_experiments.__main__ import main
from course_experiments.store import DamagedError, Store
from course_experiments.sweep import WorkerDiedError, sweep
from course_utils import encodings

SIZES = shlex.split("--length 8 --lengths 8 16 --d-model 16 --n-layers 1 --n-heads 2")
SMALL = [*shlex.split("extrapolation --encodings rope learned --seeds 0 1 2 --steps 30"), *SIZES]
RUNS = 6
ROOT = Path(__file__).resolve().parents[1]
KEY = {"encoding": "rope", "seed": 0, "lengths": [8]}


def start(folder, *more, **how):
    return subprocess.Popen(
        [sys.executable, "-m", "course_experiments", *SMALL, "--folder", folder, *more],
        **how,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a group of its own, so that a kill takes its workers too
        # As in a terminal: what is started in the background ignores Ctrl-C, and so would this.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def finish(process):
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def go_on(folder):
    """The same command in this process, which need not import PyTorch once more."""
    assert main([*SMALL, "--folder", str(folder), "--jobs", "1"]) == 0


def results(folder):
    return sorted((folder / "extrapolation").glob("*.json"))


def table(folder):
    rows = pd.read_csv(folder / "extrapolation.csv")
    return rows.drop(columns=["train_seconds", "bytes_per_second"])


def assert_partial(folder, whole):
    """The table has rows of whole runs, in the order of the whole table, unless it is not begun."""
    if not (folder / "extrapolation.csv").exists():  # killed between the first run and its table
        return
    partial_rows, all_rows = table(folder), table(whole)
    runs = ["encoding", "seed"]
    done = partial_rows[runs].drop_duplicates()
    assert 1 <= len(done) <= RUNS
    expected = all_rows.merge(done, on=runs, how="inner")
    pd.testing.assert_frame_equal(partial_rows, expected)


def wait_for(count, folder, process):
    while len(results(folder)) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        go_on(folder)
    assert "rope" in out.getvalue() and "±" in out.getvalue()
    assert len(results(folder)) == RUNS
    return folder


@pytest.fixture
def copied(uninterrupted, tmp_path):
    folder = tmp_path / "results"
    shutil.copytree(uninterrupted, folder)
    (folder / "extrapolation.csv").unlink()
    return folder


@pytest.mark.thorough
@pytest.mark.parametrize(("done", "processes"), [(1, "1"), (3, "2")])
def test_a_killed_sweep_resumes_and_does_only_what_is_missing(
    done, processes, uninterrupted, tmp_path
):
    folder = tmp_path / "results"
    killed = start(folder, "--jobs", processes)
    wait_for(done, folder, killed)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    kept = {path: path.stat().st_mtime_ns for path in results(folder)}
    assert done <= len(kept) < RUNS
    assert_partial(folder, uninterrupted)
    go_on(folder)
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
    pd.testing.assert_frame_equal(table(folder), table(uninterrupted))


@pytest.mark.thorough
@pytest.mark.parametrize("processes", ["1", "2"])
def test_ctrl_c_ends_cleanly_and_says_how_to_go_on(processes, uninterrupted, tmp_path):
    folder = tmp_path / "results"
    stopped = start(folder, "--jobs", processes)
    wait_for(1, folder, stopped)
    os.killpg(stopped.pid, signal.SIGINT)
    code, _, err = finish(stopped)
    assert_partial(folder, uninterrupted)
    assert code == 130
    assert "the same command goes on" in err and "Traceback" not in err
    go_on(folder)
    pd.testing.assert_frame_equal(table(folder), table(uninterrupted))


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content.replace('"loss": ', '"loss": 1', 1),
        lambda content: content.replace('"seed": 0', '"seed": 1'),
        lambda content: "",
        lambda content: "[1, 2]",
    ],
    ids=["cut off", "a digit more", "of another seed", "empty", "something else"],
)
def test_a_damaged_result_is_named_kept_aside_and_done_again(damage, copied, uninterrupted, capsys):
    path = next(path for path in results(copied) if path.name.startswith("rope-0"))
    path.write_text(damage(path.read_text()))
    others = {p: p.stat().st_mtime_ns for p in results(copied) if p != path}
    go_on(copied)
    assert f"{path} is damaged" in capsys.readouterr().err
    assert path.with_suffix(".damaged").is_file()
    assert all(p.stat().st_mtime_ns == when for p, when in others.items())
    pd.testing.assert_frame_equal(table(copied), table(uninterrupted))


def test_another_recipe_does_not_take_the_result_of_the_first(copied):
    before = set(results(copied))
    arguments = [*SMALL, "--folder", str(copied), "--jobs", "1", "--steps", "2"]
    assert main([*arguments, "--encodings", "rope", "--seeds", "0"]) == 0
    assert len(set(results(copied)) - before) == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--encodings", "none", "rope", "--d-model", "30"], "30"),
        (["--length", "400000"], "400000"),
        (["--jobs", "0"], "n_jobs"),
        (["--seeds", str(2**64)], "seed"),
        (["--lengths", "48"], "48"),
        (["--lr", "0"], "lr"),
        (["--corpus", "short.txt"], "got 9"),
        (["--corpus", "missing.txt"], "missing.txt"),
        (["--folder", "short.txt"], "short.txt"),
        (["--scheduler", "tcp://127.0.0.1:9"], "tcp://127.0.0.1:9"),
    ],
)
def test_what_cannot_be_run_is_told_before_anything_is_trained(
    wrong, message, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("course_experiments.sweep.CONNECT_SECONDS", 0.2)
    Path("short.txt").write_text("too short")
    assert main([*SMALL, "--folder", "results", *wrong]) == 1
    assert message in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.json"))
    if wrong[0] not in ("--jobs", "--scheduler"):  # these are noticed later
        assert not Path("results").exists()


def test_what_is_given_twice_is_done_once_and_rates_are_told_apart(tmp_path, capsys):
    small = [*SMALL, "--folder", str(tmp_path), "--jobs", "1", "--encodings", "none"]
    assert main([*small, "--seeds", "0", "0", "--lr", "1e-3", "2e-3", "--steps", "2"]) == 0
    assert len(results(tmp_path)) == 2
    assert "0.001" in capsys.readouterr().out


def test_a_result_that_cannot_be_written_leaves_no_part_of_itself(tmp_path, monkeypatch):
    store = Store(tmp_path)

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"rope-0-.*No space left"):
        store.write(KEY, {"losses": []})
    assert list(tmp_path.iterdir()) == []


def test_a_store_gives_back_what_was_written_and_nothing_for_other_keys(tmp_path):
    store = Store(tmp_path)
    store.write(KEY, {"losses": [{"loss": 1.25}]})
    assert Store(tmp_path).load(KEY) == {"losses": [{"loss": 1.25}]}
    assert store.load(KEY | {"lengths": [16]}) is None
    assert store.missing([KEY, KEY | {"seed": 1}]) == [KEY | {"seed": 1}]


def test_a_file_under_the_name_of_another_key_is_noticed(tmp_path):
    store = Store(tmp_path)
    other = KEY | {"lengths": [16]}
    shutil.copy(store.write(KEY, {"losses": []}), store.path(other))
    with pytest.raises(DamagedError, match="checksum"):
        store.load(other)


def test_what_a_killed_writer_left_is_cleared_away(tmp_path):
    left, at_work = (tmp_path / f"rope-0-0123456789.json.{pid}.partial" for pid in (1, 2))
    for path in (left, at_work):
        path.write_text('{"key"')
    os.utime(left, (0, 0))
    assert Store(tmp_path).missing([KEY]) == [KEY]
    assert list(tmp_path.iterdir()) == [at_work]


def test_a_worker_that_dies_is_told_and_loses_nothing_done_before(tmp_path):
    store = Store(tmp_path)
    store.write(KEY, {"losses": []})
    jobs = [(KEY, os.abort), (KEY | {"seed": 1}, os.abort)]
    with pytest.raises(WorkerDiedError, match="the same command goes on"):
        sweep(jobs, store, n_jobs=2)
    assert store.load(KEY) == {"losses": []}


def cluster_of(n_workers):
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
    )


@pytest.mark.thorough
def test_a_cluster_of_one_slot_does_the_runs_and_not_this_process(tmp_path):
    keys = [KEY | {"seed": seed} for seed in range(2)]
    whose = partial(eval, "{'process': __import__('os').getpid()}")  # workers know no test
    with cluster_of(1) as cluster:
        store = Store(tmp_path)
        sweep([(key, whose) for key in keys], store, scheduler=cluster.scheduler_address)
    done = [store.load(key) for key in keys]
    assert all(run and run["process"] != os.getpid() for run in done)


@pytest.mark.thorough
def test_a_scheduler_that_goes_in_mid_run_is_told(tmp_path):
    with cluster_of(1) as cluster:
        running = start(tmp_path, "--scheduler", cluster.scheduler_address, "--steps", "300")
        wait_for(1, tmp_path, running)
    code, _, err = finish(running)
    assert code == 1
    assert "the same command goes on" in err and len(results(tmp_path)) >= 1


@pytest.mark.thorough
def test_the_runs_of_a_worker_that_dies_in_a_cluster_go_to_the_other(uninterrupted, tmp_path):
    folder = tmp_path / "results"
    with cluster_of(2) as cluster, distributed.Client(cluster) as client:
        workers = client.run(os.getpid)
        assert len(set(workers.values())) == 2
        running = start(folder, "--scheduler", cluster.scheduler_address)
        wait_for(1, folder, running)
        os.kill(next(iter(workers.values())), signal.SIGKILL)
        assert len(results(folder)) < RUNS
        code, _, err = finish(running)
    assert code == 0, err
    pd.testing.assert_frame_equal(table(folder), table(uninterrupted))


def test_the_other_experiments_run_from_the_command_too(tmp_path, capsys):
    small = [*SMALL[1:], "--folder", str(tmp_path), "--encodings", "rope", "none", "--seeds", "0"]
    small += ["--steps", "2"]
    assert main(["learning-rates", *small, "--length", "8", "--jobs", "1"]) == 0
    assert "0.004" in capsys.readouterr().out
    assert main(["tasks", *small, "--length", "12", "--jobs", "1"]) == 0
    assert "reverse" in capsys.readouterr().out
    assert main(["checkpoints", *small, "--length", "8"]) == 0
    assert "written" in capsys.readouterr().out
    assert main(["checkpoints", *small, "--length", "8"]) == 0
    assert capsys.readouterr().out.count("there already") == 2
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [
        "learning_rates.csv",
        "learning_rates_positions.csv",
        "model_none.safetensors",
        "model_rope.safetensors",
        "tasks.csv",
    ]


# Encodings of a user's own

PAGE = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
OWN = PAGE.partition("```py\n")[2].partition("```")[0]
TINY = [
    *shlex.split("extrapolation --encodings alibi mine:Window --option window=3"),
    *shlex.split("--seeds 0 --steps 3"),
    *SIZES,
]


@pytest.fixture
def plugin_folder(tmp_path, monkeypatch):
    """A folder with mine.py, where the command runs; registered names are forgotten afterwards."""
    (tmp_path / "mine.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(encodings, "_SCHEMES", dict(encodings._SCHEMES))
    return tmp_path


@pytest.fixture
def trained(monkeypatch):
    """The recipes that were trained, in order."""
    recipes, train = [], extrapolation.train_on_text

    def counted(recipe, *args, **kwargs):
        recipes.append(recipe)
        return train(recipe, *args, **kwargs)

    monkeypatch.setattr(extrapolation, "train_on_text", counted)
    return recipes


def again(*more):
    assert main([*TINY, "--jobs", "1", *more]) == 0


def change(folder, before, after):
    path = folder / "mine.py"
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))


def in_another_process(*words):
    code, out, err = finish(start(*words, env={**os.environ, "PYTHONPATH": str(ROOT)}))
    assert code == 0, err
    return out


def in_this_process(*words):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main([*SMALL, "--folder", *words]) == 0
    return out.getvalue()


# A process that is started imports PyTorch, which takes longer than all of the runs.
@pytest.mark.parametrize(
    ("run", "processes"),
    [
        (in_this_process, "1"),
        pytest.param(in_another_process, "1", marks=pytest.mark.thorough),
        pytest.param(in_another_process, "2", marks=pytest.mark.thorough),
    ],
)
def test_an_encoding_of_a_file_is_trained_beside_alibi_and_drawn(run, processes, plugin_folder):
    words = [*TINY[1:], "--seeds", "0", "1", "--plot", "--jobs", processes]
    out = run("results", *words)
    rows = pd.read_csv("results/extrapolation.csv")
    assert list(rows["encoding"].unique()) == ["alibi", "mine:Window"]
    assert set(rows[rows["encoding"] == "mine:Window"]["options"]) == {"window=3"}
    assert rows[rows["encoding"] == "alibi"]["options"].isna().all()
    assert "mine:Window" in out and "results/extrapolation.png" in out
    with Image.open("results/extrapolation.png") as picture:
        alpha = picture.convert("RGBA").getchannel("A").histogram()
        assert picture.size[0] > 500 and any(alpha[156:]) and alpha[0]  # lines, and no paper
    names = sorted(path.name for path in results(plugin_folder / "results"))
    assert len(names) == 4 and all(":" not in path.name for path in plugin_folder.rglob("*"))
    again("--seeds", "0", "1")  # and finds it all done
    assert sorted(path.name for path in results(plugin_folder / "results")) == names


@pytest.mark.thorough
def test_a_change_of_its_code_runs_it_again_and_one_of_a_comment_does_not(plugin_folder, trained):
    again()
    assert [recipe.encoding for recipe in trained] == ["alibi", "mine:Window"]
    change(plugin_folder, "import torch", "# Sees near keys.\n\nimport torch")
    change(plugin_folder, "    def __init__", '    """Sees near keys."""\n\n    def __init__')
    again()
    assert len(trained) == 2
    change(plugin_folder, "< self", "<= self")
    again()
    assert [recipe.encoding for recipe in trained[2:]] == ["mine:Window"]
    rows = pd.read_csv("results/extrapolation.csv")
    change(plugin_folder, "<= self", "< self")
    again()
    assert len(trained) == 3  # as at first
    same = pd.read_csv("results/extrapolation.csv")["loss"] == rows["loss"]
    assert 0 < same.sum() < len(same)


@pytest.mark.thorough
def test_other_lengths_train_nothing_and_say_what_a_training_would(plugin_folder, trained):
    again()
    again("--lengths", "4", "8", "32")
    assert len(trained) == 2
    read = table(plugin_folder / "results")
    assert sorted(read["read"].unique()) == [4, 8, 32]
    again("--lengths", "4", "8", "32", "--folder", "new")
    assert len(trained) == 4
    pd.testing.assert_frame_equal(read, table(plugin_folder / "new"))


@pytest.mark.thorough
def test_another_training_does_not_take_the_weights_of_the_first(plugin_folder, trained):
    again()
    for more in (["--steps", "4"], ["--option", "window=2"], ["--lr", "0.1"]):
        trained.clear()
        again("--lengths", "8", "--encodings", "mine:Window", "--seeds", "0", *more)
        assert len(trained) == 1


@pytest.mark.thorough
def test_damaged_weights_are_named_and_trained_again(plugin_folder, trained, capsys):
    again()
    (path,) = (plugin_folder / "results/extrapolation").glob("mine_Window-0-*.safetensors")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    again("--lengths", "8")
    assert f"{path.name} is damaged" in capsys.readouterr().err
    assert [(recipe.encoding, recipe.seed) for recipe in trained[2:]] == [("mine:Window", 0)]
    again("--lengths", "16")
    assert len(trained) == 3


@pytest.mark.parametrize(
    ("arguments", "free", "parts"),
    [
        (SMALL, 2**20, ["1 MiB free", "6 runs need"]),
        (TINY, 2 * 2**17 + 2**24 + 2**12, ["2 runs need"]),  # their weights need room too
    ],
)
def test_a_full_disk_is_an_error_before_anything_is_trained(
    arguments, free, parts, plugin_folder, capsys, monkeypatch
):
    usage = shutil.disk_usage(plugin_folder)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    assert main([*arguments, "--jobs", "1"]) == 1
    message = capsys.readouterr().err
    assert [part for part in parts if part not in message] == []
    assert not results(plugin_folder / "results")


@pytest.mark.thorough
def test_a_worker_of_a_cluster_gets_the_file_and_the_weights(
    plugin_folder, tmp_path_factory, monkeypatch
):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))  # where no mine.py is
    with cluster_of(1) as cluster:
        monkeypatch.chdir(plugin_folder)
        on_cluster = ["--scheduler", cluster.scheduler_address, "--folder", "there"]
        assert main([*TINY, *on_cluster]) == 0
        files = set((plugin_folder / "there" / "extrapolation").glob("*.safetensors"))
        assert len(files) == 2
        assert main([*TINY, *on_cluster, "--lengths", "4", "8"]) == 0
        first = table(plugin_folder / "there")
        assert set((plugin_folder / "there" / "extrapolation").glob("*.safetensors")) == files
        change(plugin_folder, "< self", "<= self")
        assert main([*TINY, *on_cluster, "--lengths", "4", "8"]) == 0
    again("--lengths", "4", "8")
    pd.testing.assert_frame_equal(table(plugin_folder / "there"), table(plugin_folder / "results"))
    assert not first.equals(table(plugin_folder / "there"))


def test_a_worker_with_other_code_is_told(plugin_folder):
    key = {"encoding": "alibi", "seed": 0, "code": {"course_utils.encodings.alibi": "another"}}
    with pytest.raises(ValueError, match="course_utils.encodings.alibi differs here"):
        sweep([(key, dict)], Store(plugin_folder), n_jobs=1)
    key = {"encoding": "window", "seed": 0}  # registered elsewhere
    with pytest.raises(ValueError, match="'window' is known where it was registered"):
        sweep([(key, dict)], Store(plugin_folder), n_jobs=1)


def test_a_table_grows_as_runs_are_done_in_the_order_of_the_keys(plugin_folder, monkeypatch):
    path = plugin_folder / "results/extrapolation.csv"
    row_counts: list[int] = []

    def stopped(self, key, result, write=Store.write):
        if len(row_counts) == 3:
            raise KeyboardInterrupt
        row_counts.append(len(pd.read_csv(path)) if path.exists() else 0)
        return write(self, key, result)

    monkeypatch.setattr(Store, "write", stopped)
    assert main([*TINY, "--jobs", "1", "--seeds", "0", "1"]) == 130
    assert row_counts[0] == 0 and 0 < row_counts[1] < row_counts[2]
    rows = pd.read_csv("results/extrapolation.csv")
    assert list(rows["encoding"].unique()) == ["alibi", "mine:Window"]
    assert rows.groupby("encoding")["seed"].nunique().to_dict() == {"alibi": 2, "mine:Window": 1}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--encodings", "alibbi"], "did you mean 'alibi'"),
        (["--encodings", "mine:Windw"], "did you mean 'Window'"),
        (["--encodings", "yours:Window"], "No module named 'yours'"),
        (["--encodings", "broken:Window"], "ZeroDivisionError"),
        (["--encodings", "mine:torch"], "must be a class or function"),
        (["--option", "windw=3"], "option 'windw' is unknown; did you mean 'window'"),
        (["--encodings", "alibi"], "option 'window' is unknown"),
        (["--option", 'window={"a": 1}'], "option window"),
        (["--plot", "--encodings", "alibi", "--option", "a=1"], "Valid: none"),
    ],
)
@pytest.mark.usefixtures("plain_arguments")
def test_what_is_wrong_with_an_own_encoding_is_told(wrong, message, plugin_folder, capsys):
    (plugin_folder / "broken.py").write_text("1 / 0")
    assert main([*TINY, "--jobs", "1", *wrong]) == 1
    assert message in capsys.readouterr().err
    assert not list(plugin_folder.rglob("*.json"))


def test_an_option_without_a_value_is_told(plugin_folder, capsys):
    with pytest.raises(SystemExit):
        main([*TINY, "--option", "window"])
    assert "must be NAME=VALUE, got 'window'" in capsys.readouterr().err


def test_checkpoints_are_of_the_courses_encodings_and_are_not_drawn(plugin_folder, capsys):
    assert main(["checkpoints", "--plot"]) == 1
    assert "--plot" in capsys.readouterr().err
    assert main(["checkpoints", "--encodings", "alibi", "mine:Window", "--steps", "1"]) == 1
    assert "encoding 'mine:Window' is unknown" in capsys.readouterr().err
    assert not list(plugin_folder.rglob("*.safetensors"))
