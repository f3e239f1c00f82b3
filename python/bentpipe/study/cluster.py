"""Runs of a study on a Dask cluster: tasks are batches of runs, and only this process writes rows.

If a worker dies, Dask gives its task to another worker. If Dask gives up, this module resubmits
the task. A row that arrives twice is counted once, by the number of its run. Only this module
imports `dask`, which is the extra `cluster`.
"""

from __future__ import annotations

import logging
import os
import pickle
import platform
import socket
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.errors import ClusterError
from bentpipe.prototypes import RunFailedError, pool
from bentpipe.study.prototypes import failed
from bentpipe.study.scenarios import Base

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bentpipe.prototypes import Maker
    from bentpipe.study.plan import Study
    from bentpipe.study.quantities import Taken
    from bentpipe.study.runner import Executor, Job
    from bentpipe.study.store import Outcome

TIMEOUT_S = 10.0
"""Time limit for the scheduler to answer, and then for workers to be available."""
BATCH_S = 1.0
"""Target run time of a batch: long compared with the transfer to a worker, short for a study."""
LARGEST_BATCH = 500
LONGEST_GREETING = 1 << 20
NOISY = ("asyncio", "tornado.application", "distributed.client", "distributed.comm",
         "distributed.core", "distributed.utils", "distributed.batched")  # fmt: skip
MOST_DEATHS = 5
"""After this number of failures in a row, batches are assumed to kill their workers."""

Row = tuple[int, list[float | None], float, int]


def versions() -> tuple[str, str]:
    """Runs on each worker: return its version of Bentpipe and its identity."""
    return _native.version(), f"{platform.node()}, process {os.getpid()}"


@lru_cache(maxsize=64)
def base_of(files: tuple[tuple[str, bytes], ...]) -> Base:
    """A base scenario on a worker, unpacked once."""
    return Base.unpack(dict(files))


def run_batch(
    version: str,
    files: Sequence[tuple[tuple[str, bytes], ...]],
    variants: Sequence[tuple[int, tuple[str, ...], tuple[tuple[str, str], ...]]],
    jobs: Sequence[tuple[int, int]],
    quantities: Sequence[Taken],
    makers: bytes,
) -> list[Row]:
    """Runs on a worker: run jobs, each the index of a variant and a seed, and return their rows.

    `makers` are the controllers in Python, pickled: classes of files by value, those of modules by
    their import path.
    """
    here, place = versions()
    if here != version:
        raise ClusterError(wrong_version(place, here, version))
    scenarios = [base_of(files[base]).load(sets) for base, sets, _ in variants]
    rows: list[Row] = []
    # One thread or process: Dask gives each thread of a worker a batch of its own.
    if any(controllers for _, _, controllers in variants):
        setup = pool.Setup(
            cases=[
                pool.Case(scenario, controllers)
                for scenario, (_, _, controllers) in zip(scenarios, variants, strict=True)
            ],
            makers=unpickled(makers, place),
            quantities=quantities,
        )
        pool.run(setup, jobs, rows.extend, workers=1)
        return rows
    natives = [taken.native() for taken in quantities]
    _native.run_study(scenarios, list(jobs), natives, rows.extend, workers=1)
    return rows


def unpickled(makers: bytes, place: str) -> dict[str, Maker]:
    """The controllers in Python on a worker; `ClusterError` if it cannot import them."""
    try:
        found: dict[str, Maker] = pickle.loads(makers)
    except Exception as error:  # the imports of users, which fail in any way
        raise ClusterError(
            f"the worker on {place} cannot import the controller: {type(error).__name__}: {error}"
        ) from None
    return found


def wrong_version(place: str, found: str, expected: str) -> str:
    """The error message for a worker with another version."""
    return (
        f"the worker on {place} has Bentpipe {found}; expected {expected}, as here, because a study"
        " cannot mix rows of several versions"
    )


@contextmanager
def connected(address: str, study: Study) -> Iterator[Executor]:
    """An executor on the cluster whose scheduler is at `address`, or `ClusterError`."""
    try:
        import distributed
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        raise ClusterError(
            "--cluster needs Dask on this machine and on the workers: pip install"
            " 'bentpipe[cluster]'"
        ) from None
    make: Any = distributed.Client
    if address.startswith("tls:") and not has_certificates():
        raise ClusterError(
            f"{address} needs certificates: expected their files in DASK_DISTRIBUTED__COMM__TLS__"
            "CA_FILE, ...__TLS__CLIENT__CERT and ...__TLS__CLIENT__KEY (docs/studies.md)"
        )
    try:
        # Dask retries for long, and logs errors of a client that gave up.
        greet(get_address_host_port(address), is_plain=not address.startswith("tls:"))
        client: Any = make(address, timeout=TIMEOUT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = str(error) or type(error).__name__
        raise ClusterError(
            f"no scheduler answers at {address}: expected an address such as"
            f" tcp://host:8786 ({reason})"
        ) from None
    with without_noise():
        try:
            check_workers(client, address)
            yield Tasks(client, address, study)
        finally:
            # A scheduler that died may leave Dask with a connection whose time-out is just over: it
            # raises RuntimeError then, which must not hide why the study ends.
            with suppress(OSError, CancelledError, RuntimeError):
                client.close(timeout=TIMEOUT_S)


def has_certificates() -> bool:
    """True if Dask is configured for TLS connections of a client."""
    from distributed.security import Security

    arguments: Any = Security().get_connection_args("client")  # type: ignore[no-untyped-call]
    return arguments.get("ssl_context") is not None


def greet(place: tuple[str, int | None], *, is_plain: bool) -> None:
    """Connect as Dask does; `OSError` if the server does not greet as a scheduler.

    A scheduler begins with the length of its greeting in eight bytes. A dashboard waits for a
    request, and Dask waits for the dashboard. It reads the text of other services as a length.
    """
    with socket.create_connection(place, timeout=TIMEOUT_S) as connection:
        if not is_plain:
            return
        try:
            begin = connection.recv(8, socket.MSG_WAITALL)
        except TimeoutError:
            raise OSError("the server sends nothing; it may be a dashboard") from None
        if len(begin) < 8 or int.from_bytes(begin, "little") > LONGEST_GREETING:
            raise OSError("the server is not a Dask scheduler")


@contextmanager
def without_noise() -> Iterator[None]:
    """Silence Dask's log of broken connections, because an exception follows."""
    loggers = [logging.getLogger(name) for name in NOISY]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def check_workers(client: Any, address: str) -> None:
    """Check that there is a worker, and that all have the version of this process."""
    try:
        client.wait_for_workers(1, timeout=TIMEOUT_S)
        found = client.run(versions, on_error="return")
    except TimeoutError:
        raise ClusterError(f"the cluster at {address} has no worker") from None
    except OSError as error:
        raise ClusterError(f"the cluster at {address} was lost: {error}") from None
    for worker, answer in found.items():
        if isinstance(answer, ModuleNotFoundError):
            raise ClusterError(f"the worker at {worker} has no Bentpipe: {answer}")
        if isinstance(answer, OSError):
            continue  # the worker died meanwhile
        if isinstance(answer, BaseException):
            raise ClusterError(f"the worker at {worker} cannot run: {answer}")
        version, place = answer
        if version != _native.version():
            raise ClusterError(wrong_version(place, version, _native.version()))


def pickled_makers(study: Study) -> bytes:
    """The controllers in Python of a study, for other machines."""
    if not study.prototypes:
        return pickle.dumps({})
    import cloudpickle

    makers = {name: prototype.make for name, prototype in study.prototypes.items()}
    return bytes(cloudpickle.dumps(makers))


class Tasks:
    """Executor that keeps one batch running and one waiting for each thread of the cluster."""

    def __init__(self, client: Any, address: str, study: Study) -> None:
        self.client = client
        self.address = address
        self.study = study
        self.taken = [quantity.taken for quantity in study.quantities]
        self.names = list(study.bases)
        self.files = [tuple(base.files.items()) for base in study.bases.values()]
        self.makers = pickled_makers(study)
        self.size = 1
        self.deaths = 0

    def __call__(self, jobs: Sequence[Job], sink: Callable[[Sequence[Outcome]], None]) -> None:
        """Run jobs. The sink is called in this thread."""
        import distributed

        completed: Any = distributed.as_completed
        left = list(reversed(jobs))
        running: dict[Any, list[Job]] = {}
        ended = completed(loop=self.client.loop)
        try:
            self.fill(left, running, ended)
            while running:
                with self.reached():
                    future = next(ended)
                    batch = running.pop(future)
                    rows = self.rows(future, batch)
                if rows is None:
                    left += reversed(batch)
                else:
                    self.adapt(rows)
                    sink(
                        [
                            (*batch[job], values, wall_s, events)
                            for job, values, wall_s, events in rows
                        ]
                    )
                self.fill(left, running, ended)
        finally:
            with suppress(OSError, CancelledError):
                self.client.cancel(list(running), force=True)

    def fill(self, left: list[Job], running: dict[Any, list[Job]], ended: Any) -> None:
        """Send batches until there are two for each thread."""
        with self.reached():
            threads = sum(self.client.nthreads().values())
        while left and len(running) < max(2, 2 * threads):
            batch = [left.pop() for _ in range(min(self.size, len(left)))]
            future = self.submit(batch)
            running[future] = batch
            ended.add(future)

    def submit(self, batch: Sequence[Job]) -> Any:
        """One batch as a task, with the variants that it needs."""
        numbers = sorted({variant for variant, _ in batch})
        position = {number: place for place, number in enumerate(numbers)}
        variants = [self.study.variants[number] for number in numbers]
        return self.client.submit(
            run_batch,
            _native.version(),
            self.files,
            [(self.names.index(v.base), v.sets, v.controllers) for v in variants],
            [(position[number], self.study.seed(replication)) for number, replication in batch],
            self.taken,
            self.makers,
            pure=False,  # a new key, so that Dask runs a resubmitted batch again
        )

    def rows(self, future: Any, batch: Sequence[Job]) -> list[Row] | None:
        """The rows of a batch; None if it must be resubmitted."""
        from distributed import KilledWorker

        try:
            rows: list[Row] = future.result()
        except RunFailedError as error:
            raise failed(self.study, batch[error.job], error) from None
        except KilledWorker as error:
            self.deaths += 1
            if self.deaths > MOST_DEATHS:
                raise ClusterError(f"workers die again and again: {error}") from None
            return None
        self.deaths = 0
        return rows

    @contextmanager
    def reached(self) -> Iterator[None]:
        """Raise `ClusterError` if the scheduler cannot be reached any more."""
        try:
            yield
        except (OSError, CancelledError) as error:
            raise ClusterError(
                f"the cluster at {self.address} was lost; finished runs are kept, and the same"
                f" command continues ({type(error).__name__}: {error})"
            ) from None

    def adapt(self, rows: Sequence[Row]) -> None:
        """Choose the size of the next batches from the time of these runs."""
        mean_s = sum(wall_s for _, _, wall_s, _ in rows) / len(rows)
        self.size = max(1, min(LARGEST_BATCH, int(BATCH_S / max(mean_s, 1e-9))))
