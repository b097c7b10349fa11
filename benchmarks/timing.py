"""Interleaved timings as ratios with spread, and peak memory of tensors, for the benchmarks."""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

Work = Callable[[], Any]


def interleaved(work: Mapping[str, Work], rounds: int = 15) -> dict[str, list[float]]:
    """Seconds of each function in each round. A round runs all of them, in changing order."""
    # glibc hands memory back to the system, and takes page faults for it again, until it has once
    # seen a large block freed. Any program that has run for a while is past that.
    torch.empty(30 * 2**20, dtype=torch.uint8)
    for function in work.values():  # fill caches
        function()
    names = list(work)
    times: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            start = time.perf_counter()
            work[name]()
            times[name].append(time.perf_counter() - start)
    return times


def ratio(times: Mapping[str, list[float]], ours: str, other: str) -> tuple[float, float, float]:
    """Quartiles, the median in the middle, of ours over other, round by round."""
    shares = [a / b for a, b in zip(times[ours], times[other], strict=True)]
    low, middle, high = statistics.quantiles(shares, n=4)
    return low, middle, high


def fastest(times: Mapping[str, list[float]], names: list[str]) -> str:
    return min(names, key=lambda name: statistics.median(times[name]))


def shown(quartiles: tuple[float, float, float]) -> str:
    low, middle, high = quartiles
    return f"{middle:.2f} ({low:.2f}–{high:.2f})"


def peak_bytes(function: Work) -> int:
    """The most bytes of tensors alive at one time beyond those that were there before."""
    function()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        result = function()
        del result
    events = recorded.profiler.kineto_results.events()
    changes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    alive = peak = 0
    for _, change in changes:
        alive += change
        peak = max(peak, alive)
    return peak


def machine(*packages: str) -> str:
    """One line about where this ran."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", *packages))
    return (
        f"{torch.get_num_threads()} threads, {platform.machine()}, "
        f"Python {platform.python_version()}, {versions}"
    )
