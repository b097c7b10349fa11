"""Many runs: on the cores of this machine or on a Dask cluster, each stored as soon as it is done.

Only this process writes results, so the machines of a cluster need no common disk. What is stored
already is not done again: a sweep that was stopped goes on when it is started again.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor

from tqdm import tqdm

from course_utils import validation
from course_utils.experiments.store import Key, Result, Store

Job = tuple[Key, Callable[[], Result]]

GO_ON = "what was done is kept, the same command goes on"
CONNECT = 10  # seconds to wait for a scheduler


class WorkerDiedError(RuntimeError):
    """A process of a sweep was killed, or a cluster was lost or lost a run several times."""


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
        store: where results go, one at a time as they come; those stored stay, whatever fails.
        n_jobs: processes on this machine; all its cores if not given, and one with a GPU.
        scheduler: address of a running Dask scheduler, such as ``"tcp://10.0.0.1:8786"``. Its
            workers then do the runs, and those of a worker that dies go to another.
        name: text before the bar.
    """
    if n_jobs is not None:
        validation.integer("n_jobs", n_jobs)
    left = store.missing([key for key, _ in jobs])
    waiting = [(key, job) for key, job in jobs if key in left]
    bar = tqdm(total=len(jobs), initial=len(jobs) - len(waiting), desc=name, unit="run")
    if not waiting:
        bar.close()
        return 0
    store.check_space(len(waiting))
    done = _on_cluster(waiting, scheduler) if scheduler else _here(waiting, n_jobs)
    with bar:
        for key, result in done:
            store.write(key, result)
            bar.update()
    return len(waiting)


def _do(key: Key, job: Callable[[], Result]) -> tuple[Key, Result]:
    return key, job()


def _here(jobs: Sequence[Job], n_jobs: int | None) -> Iterator[tuple[Key, Result]]:
    """Results in the order in which processes of this machine have them."""
    import joblib
    import torch

    if n_jobs is None:
        n_jobs = 1 if torch.cuda.is_available() else joblib.cpu_count()
    try:
        with joblib.parallel_config(backend="loky", n_jobs=n_jobs, inner_max_num_threads=1):
            # Dispatched one by one: a process whose parent was killed then has no next job.
            pool = joblib.Parallel(
                return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs"
            )
            yield from pool(joblib.delayed(_do)(key, job) for key, job in jobs)
    except BrokenExecutor as error:
        raise WorkerDiedError(
            f"a process that trained a model died, perhaps for lack of memory ({error}); {GO_ON}, "
            "and --jobs 1 takes the least memory"
        ) from error


def _on_cluster(jobs: Sequence[Job], scheduler: str) -> Iterator[tuple[Key, Result]]:
    """Results in the order in which a Dask cluster has them.

    Straight from distributed: through joblib a cluster of one slot would leave all work to this
    process, and workers that join later would get none.
    """
    from distributed import CancelledError, Client, KilledWorker, as_completed

    with Client(scheduler, timeout=CONNECT) as client:
        waiting = as_completed([client.submit(_do, *job, pure=False) for job in jobs])
        try:
            for future in waiting:
                yield future.result()
        except (KilledWorker, CancelledError) as error:
            raise WorkerDiedError(
                f"the cluster at {scheduler} lost a run ({error}); {GO_ON}"
            ) from error
