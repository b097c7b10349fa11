"""Many runs: on the cores of this machine or on a Dask cluster, each stored as soon as it is done.

Only this process writes results and weights, so the machines of a cluster need no common disk. What
is stored already is not done again: a sweep that was stopped goes on when it is started again.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor

from tqdm import tqdm

from course_experiments import plugins
from course_experiments.saved_models import Learner, Weights
from course_experiments.store import Key, Result, Store
from course_utils import validation

Job = tuple[Key, Callable[[], Result]]
# A job as it is sent: its number, key and function, files that it needs, weights if there are any.
Task = tuple[int, Key, Callable[[], Result], plugins.Sources, Weights | None]
Done = tuple[int, Result, Weights | None]  # a job's number, its result, its weights if they are new

GO_ON = "what was done is kept, the same command goes on"
CONNECT = 10  # seconds to wait for a scheduler
SENT = 32  # runs with weights that a cluster has at once


class WorkerDiedError(RuntimeError):
    """A process of a sweep was killed, or a cluster was lost or lost a run several times."""


def sweep(
    jobs: Sequence[Job],
    store: Store,
    *,
    n_jobs: int | None = None,
    scheduler: str | None = None,
    name: str = "runs",
    after: Callable[[], object] = lambda: None,
) -> int:
    """Do all jobs that the store has no result of; returns how many were done.

    Args:
        jobs: a key and a function without arguments each; it must pickle. Of a ``Learner`` the
            weights are stored too, and taken from there.
        store: where results go, one at a time as they come; those stored stay, whatever fails.
        n_jobs: processes on this machine; all its cores if not given, and one with a GPU.
        scheduler: address of a running Dask scheduler, such as ``"tcp://10.0.0.1:8786"``. Its
            workers then do the runs, and those of a worker that dies go to another.
        name: text before the bar.
        after: called after each run that is stored.
    """
    if n_jobs is not None:
        validation.integer("n_jobs", n_jobs)
    left = store.missing([key for key, _ in jobs])
    waiting = [(key, job) for key, job in jobs if key in left]
    bar = tqdm(total=len(jobs), initial=len(jobs) - len(waiting), desc=name, unit="run")
    if not waiting:
        bar.close()
        return 0
    learners = [job for _, job in waiting if isinstance(job, Learner)]
    store.check_space(len(waiting), sum(one.size for one in learners))
    tasks = (  # each made when it is sent: weights may be many
        (number, key, job, plugins.sources(key), _kept(job, store))
        for number, (key, job) in enumerate(waiting)
    )
    done = _on_cluster(tasks, scheduler) if scheduler else _here(tasks, n_jobs)
    with bar:
        for number, result, weights in done:
            key, job = waiting[number]
            if weights is not None and isinstance(job, Learner):
                store.write_weights(job.training, weights)
            store.write(key, result)
            bar.update()
            after()
    return len(waiting)


def _kept(job: Callable[[], Result], store: Store) -> Weights | None:
    return store.weights(job.training) if isinstance(job, Learner) else None


def _do(
    number: int,
    key: Key,
    job: Callable[[], Result],
    sources: plugins.Sources,
    weights: Weights | None,
) -> Done:
    plugins.prepare(key, sources)
    if not isinstance(job, Learner):
        return number, job(), None
    result, learned = job.job(weights)
    return number, result, learned if weights is None else None


def _here(tasks: Iterator[Task], n_jobs: int | None) -> Iterator[Done]:
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
            yield from pool(joblib.delayed(_do)(*task) for task in tasks)
    except BrokenExecutor as error:
        raise WorkerDiedError(
            f"a process that trained a model died, perhaps for lack of memory ({error}); {GO_ON}, "
            "and --jobs 1 takes the least memory"
        ) from error


def _on_cluster(tasks: Iterator[Task], scheduler: str) -> Iterator[Done]:
    """Results in the order in which a Dask cluster has them.

    Straight from distributed: through joblib a cluster of one slot would leave all work to this
    process, and workers that join later would get none.
    """
    from distributed import CancelledError, Client, KilledWorker, as_completed

    with Client(scheduler, timeout=CONNECT) as client:
        waiting = as_completed()

        def send() -> None:
            """Send what is left, but leave most weights on the disk for now."""
            for task in tasks:
                waiting.add(client.submit(_do, *task, pure=False))
                if task[-1] is not None and waiting.count() >= SENT:
                    break

        try:
            send()
            for future in waiting:
                yield future.result()
                send()
        except (KilledWorker, CancelledError) as error:
            raise WorkerDiedError(
                f"the cluster at {scheduler} lost a run ({error}); {GO_ON}"
            ) from error
