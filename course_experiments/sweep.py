"""Many runs: on the cores of this machine or on a Dask cluster, each stored as soon as it is done.

Only this process writes results and weights, so the machines of a cluster need no common disk. What
is stored already is not done again: a sweep that was stopped goes on when it is started again.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass

from tqdm import tqdm

from course_experiments import plugins
from course_experiments.kept_weights import TrainingJob, Weights
from course_experiments.store import Key, Result, Store
from course_utils import validation

Job = tuple[Key, Callable[[], Result]]

GO_ON = "what was done is kept, the same command goes on"
CONNECT_SECONDS = 10  # to wait for a scheduler
MOST_SENT = 32  # runs with weights that a cluster holds at once


@dataclass(frozen=True)
class Task:
    """A job as it is sent to the process that does it."""

    number: int  # of the job in the sweep
    key: Key
    job: Callable[[], Result]
    sources: plugins.Sources
    weights: Weights | None  # kept from an earlier sweep


@dataclass(frozen=True)
class Outcome:
    """What comes back of a task."""

    number: int
    result: Result
    new_weights: Weights | None


class WorkerDiedError(RuntimeError):
    """A process of a sweep was killed, or a cluster was lost or lost a run several times."""


def sweep(
    jobs: Sequence[Job],
    store: Store,
    *,
    n_jobs: int | None = None,
    scheduler: str | None = None,
    name: str = "runs",
    after: Callable[[], object] | None = None,
) -> int:
    """Do all jobs whose results are not stored yet; returns how many were done.

    Args:
        jobs: a key and a function without arguments each, which can be pickled. The weights of a
            ``TrainingJob`` are stored too, and taken from there.
        store: where results go, one at a time as they come; those stored stay, whatever fails.
        n_jobs: processes on this machine; None for one a core, or a single one with a GPU.
        scheduler: address of a running Dask scheduler, such as ``"tcp://10.0.0.1:8786"``. Its
            workers then do the runs, and those of a worker that dies go to another.
        name: text before the progress bar.
        after: called after each run that is stored.
    """
    if n_jobs is not None:
        validation.integer("n_jobs", n_jobs)
    missing = store.missing([key for key, _ in jobs])
    waiting = [(key, job) for key, job in jobs if key in missing]
    bar = tqdm(total=len(jobs), initial=len(jobs) - len(waiting), desc=name, unit="run")
    if not waiting:
        bar.close()
        return 0
    sizes = [job.weights_bytes for _, job in waiting if isinstance(job, TrainingJob)]
    store.check_space(len(waiting), sum(sizes))
    tasks = _tasks(waiting, store)
    outcomes = _on_cluster(tasks, scheduler) if scheduler else _on_this_machine(tasks, n_jobs)
    with bar:
        for outcome in outcomes:
            key, job = waiting[outcome.number]
            if outcome.new_weights is not None and isinstance(job, TrainingJob):
                store.write_weights(job.weights_key, outcome.new_weights)
            store.write(key, outcome.result)
            bar.update()
            if after is not None:
                after()
    return len(waiting)


def _tasks(jobs: Sequence[Job], store: Store) -> Iterator[Task]:
    """The task of each job, made when it is sent: together their weights may fill the memory."""
    for number, (key, job) in enumerate(jobs):
        weights = store.weights(job.weights_key) if isinstance(job, TrainingJob) else None
        yield Task(number, key, job, plugins.sources(key), weights)


def _do(task: Task) -> Outcome:
    plugins.prepare(task.key, task.sources)
    if not isinstance(task.job, TrainingJob):
        return Outcome(task.number, task.job(), None)
    result, weights = task.job.measure(task.weights)
    return Outcome(task.number, result, weights if task.weights is None else None)


def _on_this_machine(tasks: Iterator[Task], n_jobs: int | None) -> Iterator[Outcome]:
    """Outcomes in the order in which processes of this machine have them."""
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
            yield from pool(joblib.delayed(_do)(task) for task in tasks)
    except BrokenExecutor as error:
        raise WorkerDiedError(
            f"a process that trained a model died, perhaps for lack of memory ({error}); {GO_ON}, "
            "and --jobs 1 takes the least memory"
        ) from error


def _on_cluster(tasks: Iterator[Task], scheduler: str) -> Iterator[Outcome]:
    """Outcomes in the order in which a Dask cluster has them.

    Straight from distributed: through joblib a cluster of one slot would leave all work to this
    process, and workers that join later would get none.
    """
    from distributed import CancelledError, Client, KilledWorker, as_completed

    with Client(scheduler, timeout=CONNECT_SECONDS) as client:
        running = as_completed()

        def send() -> None:
            """Send all tasks without weights, and as many with weights as a cluster may hold."""
            for task in tasks:
                running.add(client.submit(_do, task, pure=False))
                if task.weights is not None and running.count() >= MOST_SENT:
                    break

        try:
            send()
            for future in running:
                yield future.result()
                send()
        except (KilledWorker, CancelledError) as error:
            raise WorkerDiedError(
                f"the cluster at {scheduler} lost a run ({error}); {GO_ON}"
            ) from error
