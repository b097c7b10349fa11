"""What an encoding costs and can do, all of it measured by running it: one dict an encoding."""

import copy
import statistics
import time
from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry, sdpa_flop_count

from course_utils import validation
from course_utils.attention import MultiHeadAttention
from course_utils.devices import isolated_rng, pick_device
from course_utils.encodings import Places, PositionalEncoding, create
from course_utils.measures.encodings import position_scores

DEFAULT_ROWS = 512  # of a table, as in ``create``
LONGEST_TRIED = 2**20  # tokens
PATIENCE = 0.25  # seconds that trying one length may take before longer ones are left alone
SHIFT = 37  # positions; odd, so no power-of-two period can hide
SHIFTED_TOKENS = 32
ROUNDS = 9  # timings of each side

Run = Callable[[], object]


def passport(
    name: str,
    *,
    d_model: int = 128,
    n_heads: int = 4,
    length: int = 256,
    batch: int = 2,
    causal: bool = False,
    device: torch.device | str = "cpu",
    **options: Any,
) -> dict[str, Any]:
    """Everything the course's comparison table says of an encoding, computed on this machine.

    It runs ``encodings.create(name, …, **options)`` in attention over ``batch`` sequences of
    ``length`` tokens, on a ``device`` or the one that ``pick_device`` finds for its name. Schemes
    that are only right behind a causal mask are always measured so. A scheme that keeps a table
    gets rows for ``length`` tokens, and 512 at least, unless the options name ``max_len``. The dict
    has

    - ``name``, ``doors``: the doors it opens, ``causal``: whether measured behind a causal mask;
    - ``parameters``: numbers it learns; ``buffers``: numbers it keeps without learning;
    - ``shift_error``: largest change of an attention weight of 32 random tokens when all
      their positions move by 37 (None if the encoding refuses those positions);
    - ``extra_flops``, ``extra_bytes``: arithmetic operations, and bytes of tensors made, in
      one forward pass of attention beyond the same attention with no encoding;
    - ``time_ratio``: median time of a forward pass over the time with no encoding,
      measured in turns in one run, so noisy by nature;
    - ``longest``: the longest sequence it accepts, found by trying; None if no limit shows
      up to ``longest_tried`` tokens: 1,048,576, or fewer where trying one takes too long.
    """
    validation.integer("length", length)
    validation.integer("batch", batch)
    picked = device if isinstance(device, torch.device) else pick_device(device)
    options.setdefault("max_len", max(length, DEFAULT_ROWS))
    with isolated_rng(seed=0):
        encoding = create(name, d_model=d_model, n_heads=n_heads, causal=causal, **options)
        causal = causal or encoding.causal
        attention = MultiHeadAttention(d_model, n_heads, encoding, causal).to(picked).eval()
        plain = MultiHeadAttention(d_model, n_heads, None, causal).to(picked).eval()
    x = torch.randn(batch, length, d_model, generator=torch.Generator().manual_seed(0)).to(picked)
    same_word = torch.zeros(batch, length, dtype=torch.long, device=picked)
    run, run_plain = partial(attention, x, tokens=same_word), partial(plain, x)
    with torch.no_grad():
        with _Costs() as costs:
            run()
        with _Costs() as plain_costs:
            run_plain()
        on_cpu = copy.deepcopy(encoding).cpu()  # where positions past a table are refused
        longest, longest_tried = _longest(on_cpu)
        return {
            "name": name,
            "doors": encoding.doors,
            "causal": causal,
            "parameters": sum(parameter.numel() for parameter in encoding.parameters()),
            "buffers": sum(buffer.numel() for buffer in encoding.buffers()),
            "shift_error": _shift_error(on_cpu, x[:, :SHIFTED_TOKENS].cpu(), causal),
            "extra_flops": costs.flops - plain_costs.flops,
            "extra_bytes": costs.bytes - plain_costs.bytes,
            "time_ratio": _time_ratio(run, run_plain, picked),
            "longest": longest,
            "longest_tried": longest_tried,
        }


class _Costs(TorchDispatchMode):
    """Counts operations and bytes of new tensors while it is active.

    A matrix product or fused attention counts as PyTorch's flop counter says; any other
    operation counts one for each element it computes. Views and copies compute nothing. Bytes
    add up every tensor that is made, also those that are dropped at once.
    """

    CONSTANTS = ("arange", "empty", "zeros", "ones", "full", "fill_")
    COPIES = ("cat", "clone", "flip", "copy_", "_to_copy")
    FREE = CONSTANTS + COPIES  # names of operations that compute nothing
    flops: int = 0
    bytes: int = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        inputs = {a.untyped_storage().data_ptr() for a in args if isinstance(a, Tensor)}
        results = out if isinstance(out, (tuple, list)) else (out,)
        new = [
            result
            for result in results
            if isinstance(result, Tensor) and result.untyped_storage().data_ptr() not in inputs
        ]
        self.bytes += sum(tensor.numel() * tensor.element_size() for tensor in new)
        name = func._overloadpacket.__name__
        if func._overloadpacket in flop_registry:
            self.flops += flop_registry[func._overloadpacket](*args, **kwargs, out_val=out)
        elif name.startswith("_scaled_dot_product"):  # the CPU's kernel is in no registry
            self.flops += sdpa_flop_count(*(a.shape for a in args[:3]))
        elif name.endswith("_") and name not in self.FREE:  # in place: computes, makes nothing
            self.flops += out.numel()
        elif name not in self.FREE:
            self.flops += sum(tensor.numel() for tensor in new)
        return out


def _shift_error(encoding: PositionalEncoding, x: Tensor, causal: bool) -> float | None:
    row = torch.arange(x.shape[1], device=x.device)
    hidden = (row[None, :] > row[:, None]) & causal
    words = (row % 2).expand(x.shape[:2])  # two in turn, in case position depends on the word

    def weights(positions: Tensor) -> Tensor:
        scores = position_scores(encoding, x, positions, words)
        return scores.masked_fill(hidden, -torch.inf).softmax(-1)

    before = weights(row)  # an encoding that refuses even these is misused, and says so
    try:
        after = weights(row + SHIFT)
    except ValueError:  # past the end of a table
        return None
    return float((after - before).abs().max())


def _time_ratio(run: Run, run_plain: Run, device: torch.device) -> float:
    def seconds(call: Run) -> float:
        start = time.perf_counter()
        call()
        if device.type != "cpu":
            torch.accelerator.synchronize(device)
        return time.perf_counter() - start

    seconds(run)  # warm up
    seconds(run_plain)
    return statistics.median(seconds(run) / seconds(run_plain) for _ in range(ROUNDS))


def _longest(encoding: PositionalEncoding) -> tuple[int | None, int]:
    """The longest sequence accepted, None for no limit, and the longest one tried.

    On the CPU: a GPU would have to wait for positions to be read, so there nothing is refused.
    """
    is_refused = partial(_is_refused, encoding)
    length, start = 1, time.perf_counter()
    while not is_refused(length):
        if length == LONGEST_TRIED or time.perf_counter() - start > PATIENCE:
            return None, length
        length, start = 2 * length, time.perf_counter()
    first_refused = bisect_left(range(length), True, lo=length // 2 + 1, key=is_refused)
    return first_refused - 1, length


def _is_refused(encoding: PositionalEncoding, length: int) -> bool:
    """Whether a door does not take the first and the last position of a sequence."""
    ends = torch.tensor([0, length - 1])
    x = torch.zeros(1, 2, encoding.d_model)
    q = x.unflatten(-1, (encoding.n_heads, -1)).transpose(1, 2)
    weights = torch.full((1, encoding.n_heads, 2, 2), 0.5)
    at = Places(ends)
    try:
        encoding.embed(x, ends, torch.zeros_like(ends)[None])
        encoding.rotate(q, q, at)
        encoding.bias(q, q, at)
        encoding.values(weights, at)
    except ValueError:
        return True
    return False
