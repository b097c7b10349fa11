"""Many runs: on the cores of this machine or on a Dask cluster, each stored as soon as it is done.

Only this process writes results, so the machines of a cluster need no common disk. What is stored
already is not done again: a sweep that was stopped goes on when it is started again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager

from tqdm import tqdm

from course_utils.experiments.store import Key, Result, Store

Job = tuple[Key, Callable[[], Result]]


class WorkerDiedError(RuntimeError):
    """A process of a sweep was killed from outside."""


def sweep(
    jobs: Sequence[Job],
    store: Store,
    *,
    n_jobs: int | None = None,
    scheduler: str | None = None,
    name: str = "runs",
) -> int:
    """Do all jobs that the store has no result of; returns how many were done.

    Args:
        jobs: a key and a function without arguments each; it must pickle.
        store: where results go, one at a time as they come.
        n_jobs: processes on this machine; all its cores if not given, and one with a GPU.
        scheduler: address of a running Dask scheduler, such as ``"tcp://10.0.0.1:8786"``. Its
            workers then do the runs, and those of a worker that dies go to another.
        name: text before the bar.

    Raises:
        OSError: if the results cannot be stored; those stored before stay.
        WorkerDiedError: if a process on this machine was killed.
        ImportError: if joblib, or with a scheduler distributed, is not installed.
    """
    left = store.missing([key for key, _ in jobs])
    waiting = [(key, job) for key, job in jobs if key in left]
    bar = tqdm(total=len(jobs), initial=len(jobs) - len(waiting), desc=name, unit="run")
    if not waiting:
        bar.close()
        return 0
    store.check_space(len(waiting))
    try:
        with bar, _workers(n_jobs, scheduler) as parallel:
            for key, result in parallel(waiting):
                store.write(key, result)
                bar.update()
    except BrokenExecutor as error:
        raise WorkerDiedError(
            f"a process that trained a model died, perhaps for lack of memory ({error}); "
            "what was done is kept, the same command goes on, --jobs 1 takes the least memory"
        ) from error
    return len(waiting)


def _do(key: Key, job: Callable[[], Result]) -> tuple[Key, Result]:
    return key, job()


@contextmanager
def _workers(
    n_jobs: int | None, scheduler: str | None
) -> Iterator[Callable[[Sequence[Job]], Iterator[tuple[Key, Result]]]]:
    """What takes jobs and gives their results in the order in which they are done."""
    import joblib
    import torch

    def parallel(jobs: Sequence[Job]) -> Iterator[tuple[Key, Result]]:
        pool = joblib.Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="all")
        return pool(joblib.delayed(_do)(key, job) for key, job in jobs)

    if scheduler is None:
        if n_jobs is None:
            n_jobs = 1 if torch.cuda.is_available() else joblib.cpu_count()
        with joblib.parallel_config(backend="loky", n_jobs=n_jobs, inner_max_num_threads=1):
            yield parallel
        return
    from distributed import Client

    with (
        Client(scheduler, set_as_default=False) as client,
        joblib.parallel_config(backend="dask", n_jobs=-1, client=client),
    ):
        yield parallel
