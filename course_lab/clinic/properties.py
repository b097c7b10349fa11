"""What any encoding should keep to, whatever it computes: six duties and a promise, tried out.

A property is a function that takes an attention layer, most of them a length too, and says what is
wrong, "" if nothing is. An encoder owes neither "causal" nor "cache = whole".
"""

from __future__ import annotations

import contextlib
import copy
import difflib
import inspect
import itertools
import random
import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_lab.clinic.layers import layer, words
from course_lab.clinic.reachable_state import (
    names_in,
    reachable_state,
    shared_generators,
    short_name,
)
from course_utils.attention import MultiHeadAttention
from course_utils.attention.kv_cache import KVCache
from course_utils.devices import isolated_rng
from course_utils.encodings import Maker, NoEncoding, PositionalEncoding, create, maker_of
from course_utils.encodings.base import DOORS, parameters_of
from course_utils.models import TinyTransformer
from course_utils.texts import text

LENGTH = 12  # tokens of a text, where no other length is given
LENGTHS = (LENGTH, 96, 512)  # tokens; the last is more than attention reads in one block
EVERY_LENGTH = range(LENGTH, 97)  # tokens of the texts whose later tokens are changed
STARTS = {  # of these texts, by their length: they tile all positions, 37 shuffles the lengths
    length: EVERY_LENGTH[-1] * (37 * number % len(EVERY_LENGTH))
    for number, length in enumerate(EVERY_LENGTH)
}
SHIFTS = (1000, 8000)  # positions by which a text is moved
VOCABULARY = 256  # ids of tokens, for encodings that look at them
CROWDS = ((130, 96), (64, 64), (8, 64), (8, 512))  # texts in one batch, tokens of each
ROUNDS = 100  # readings of a text, with another between, that ask whether it is still the same
ROUNDING = 1e-4  # in an output of size 1: more than float32 loses, less than a fault changes
NO_GRADIENT = 1e-9  # float64's rounding leaves far less
DOOR_METHODS = (*DOORS, "bias_by_offset")
SHORT_TRAINING = 64  # tokens of a text where lesson 11 trains, which is the max_len it passes
FITS_BOTH = (
    "bias returns (batch, heads, q_len, k_len), and positions come as (seq,) or (batch, seq). "
    "at.q[..., None, :, None] fits both, and so does at.k[..., None, None, :]. Beside words, "
    "(batch, n, d_model), positions[..., None] does."
)
OFFSETS_AFTER_TOO = (
    "bias_by_offset is asked for offsets on both sides, and the mask hides the later keys "
    "afterwards. Which row does your table have for +1, and for one beyond its end?"
)
REACH = max(start + length - 1 for length, start in STARTS.items())  # but for shift
FAR_POSITIONS = (
    f"Texts are read up to position {REACH:,}, and for shift, which nobody owes, up to "
    f"{SHIFTS[-1] + LENGTHS[-1] - 1:,}. Does your table reach so far, or what do you do beyond its "
    "end? __init__ may take max_len, and is told it."
)
# What an error says, as a regular expression → the question to it.
USUAL_SLIPS = {
    "int64_t without overflow": "Offsets are whole numbers: what does .float() change?",
    "negative integer powers": (
        "Offsets are whole numbers: what does .float() change? And what is a distance of 0 to that "
        "power?"
    ),
    r"to unpack|cannot unpack|\.rotate returns": (
        "rotate returns two, q and k, (batch, heads, n, d_head) each. Does yours?"
    ),
    r"\.values returns": (
        "That is (batch, heads, queries, d_head), for weights (batch, heads, queries, keys)."
    ),
    r"\.embed returns": "That is (batch, n, d_model), as x. Does your method return it?",
    r"before Module.__init__|no attribute '(d_model|n_heads|d_head)'": (
        "Does __init__ begin with super().__init__(d_model, n_heads)?"
    ),
    r"positional arguments? but|missing \d+ required positional": (
        "Which arguments does the table of methods give it?"
    ),
    r"got NoneType": "Is a return missing?",
}
LEAST_MOVE = 0.5  # of each parameter of an encoding: what starts at 0 may do nothing there


def _ids(texts: int, length: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(VOCABULARY, (texts, length), generator=generator)


def _english(texts: int, length: int) -> Tensor:
    """Ids of excerpts of the documentation, each from another place."""
    english = text.documentation()
    starts = [1000 * (row + 1) for row in range(texts)]
    return torch.stack([english[start : start + length] for start in starts])


def _english_and_random(texts: int, length: int) -> Tensor:
    """Ids of texts, by turns English and random bytes: some schemes look at spaces alone."""
    ids, english = _ids(texts, length), text.documentation()
    for row in range(0, texts, 2):
        ids[row] = english[1000 * (row + 1) : 1000 * (row + 1) + length]
    return ids


def _gap(first: Tensor, second: Tensor) -> float:
    """The largest difference; a ValueError if it is no number."""
    gap = (first.double() - second.double()).abs().max()
    if gap.isnan():
        raise ValueError(
            "it gives nan, which is no number. Does a root or a logarithm get a number below 0? "
            "Offsets are j − i, negative for what came before. And what is the logarithm of the "
            "distance 0, that of a word to itself?"
        )
    return float(gap)


def _move(encoding: torch.nn.Module, sign: int) -> None:
    """Move each parameter by 0.5 to 1, up or down at random; the other sign moves it oppositely."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in encoding.parameters():
            step = LEAST_MOVE + (1 - LEAST_MOVE) * torch.rand(parameter.shape, generator=generator)
            down = torch.rand(parameter.shape, generator=generator) < 0.5
            parameter.add_(sign * torch.where(down, -step, step).to(parameter))


def _moved(examined: MultiHeadAttention, sign: int) -> MultiHeadAttention:
    """A copy whose encoding has other parameters, as after some training."""
    copied = copy.deepcopy(examined)
    _move(copied.encoding, sign)
    return copied


def _as_made_and_moved(examined: MultiHeadAttention) -> list[MultiHeadAttention]:
    """The layer, and two with moved parameters, if its encoding has any."""
    signs = (1, -1) if any(True for _ in examined.encoding.parameters()) else ()
    return [examined, *(_moved(examined, sign) for sign in signs)]


def doors(examined: MultiHeadAttention) -> str:
    """A door is open, and each method is one or is used by another."""
    encoding = examined.encoding
    if type(encoding) is NoEncoding:
        return ""
    kinds = type(encoding).__mro__[: type(encoding).__mro__.index(PositionalEncoding)]
    # Methods of the course's own classes may be for others, and have tests of their own.
    written = [
        kind for kind in kinds if not kind.__module__.startswith(("course_utils", "course_lab"))
    ]
    methods = [
        (name, member)
        for kind in written
        for name, member in vars(kind).items()
        if inspect.isfunction(member)
    ]
    for name in dict.fromkeys(name for name, _ in methods):
        is_known = name.startswith("__") or (
            hasattr(PositionalEncoding, name) and name != "forward"
        )
        others = (method for other, method in methods if other != name)
        if is_known or any(name in names_in(method.__code__) for method in others):
            continue
        plain_name = name.strip("_").lower()
        nearest = difflib.get_close_matches(plain_name, DOOR_METHODS, n=1, cutoff=0.8)
        if name.startswith("_") and not nearest:
            continue  # for something else than attention
        question = f"did you mean {nearest[0]}?" if nearest else f"doors: {', '.join(DOOR_METHODS)}"
        return f"no door is called {name}, so it is never used; {question}"
    if complaint := _unread_number(encoding, kinds, written):
        return complaint
    if _hides_bias_by_offset(type(encoding), written):
        return "bias takes the place of bias_by_offset, so bias_by_offset is never used"
    for name in ("bias", "values"):  # the others complain themselves
        if any(name in vars(kind) for kind in written) and _returns_nothing(examined, name):
            return f"{name} returns None, so it adds nothing. Is a return missing?"
    if encoding.doors:
        return ""
    return f"it opens no door: none of {', '.join(DOOR_METHODS)} is defined"


def _unread_number(
    encoding: PositionalEncoding, kinds: Sequence[type], written: Sequence[type]
) -> str:
    """A complaint about a class's number that no method reads: a misspelt name, mostly.

    One that a class with methods of its own defines may serve its other numbers, so there only a
    name near another class's is one.
    """
    members = [member for kind in kinds for member in vars(kind).values()]
    read = set().union(*(names_in(m.__code__) for m in members if inspect.isfunction(m)))
    if {"getattr", "vars", "__dict__"} & read:  # it may be read by a name that is computed
        return ""
    for kind in written:
        has_methods = any(inspect.isfunction(member) for member in vars(kind).values())
        for name, value in vars(kind).items():
            is_number = isinstance(value, (int, float, tuple, list, Tensor))
            is_known = name.startswith("_") or hasattr(PositionalEncoding, name) or name in read
            if not is_number or is_known:
                continue
            inherited = sorted((read & set(dir(type(encoding)))) - set(vars(kind)))
            nearest = difflib.get_close_matches(name.lower(), inherited, n=1)
            if nearest or not has_methods:
                question = f"did you mean {nearest[0]}?" if nearest else "which should it replace?"
                return f"no method reads {name}, so it changes nothing; {question}"
    return ""


def _returns_nothing(examined: MultiHeadAttention, name: str) -> bool:
    """Whether a method returns None whenever it is called; an error is for others to report."""
    able = copy.deepcopy(examined)
    method, returned = getattr(able.encoding, name), []

    def watched(*arguments: Any, **named: Any) -> Any:
        returned.append(method(*arguments, **named))
        return returned[-1]

    setattr(able.encoding, name, watched)
    with contextlib.suppress(Exception):
        for length in LENGTHS[:2]:
            able(words(able, 2, length), tokens=_english_and_random(2, length), need_weights=True)
    return bool(returned) and all(result is None for result in returned)


def _hides_bias_by_offset(kind: type[PositionalEncoding], written: Sequence[type]) -> bool:
    """Whether somebody's own bias replaces the course's, which would call their bias_by_offset."""
    if kind.bias_by_offset is PositionalEncoding.bias_by_offset:
        return False
    owner = next(parent for parent in kind.__mro__ if "bias" in vars(parent))
    calls = names_in(kind.bias.__code__) if owner in written else {"bias_by_offset"}
    return not {"bias_by_offset", "super"} & calls


def keeps_its_arguments(examined: MultiHeadAttention) -> str:
    """No method writes into the words, positions, queries, keys, offsets or weights that it gets.

    An error is for the other properties to report.
    """
    changed: list[tuple[str, str]] = []
    able = copy.deepcopy(examined)
    for method in DOOR_METHODS:
        if able.encoding._overrides(method):
            setattr(able.encoding, method, _watched(able.encoding, method, changed))
    with contextlib.suppress(Exception):
        able(words(able, 2, LENGTH), tokens=_english_and_random(2, LENGTH), need_weights=True)
    if not changed:
        return ""
    method, name = changed[0]
    return (
        f"{method} changes its argument {name} in place, so the tests read other numbers than they "
        f"wrote. Write {name} = {name} + … in place of {name} += …, or begin with "
        f"{name} = {name}.clone()."
    )


def _watched(
    encoding: PositionalEncoding, name: str, changed: list[tuple[str, str]]
) -> Callable[..., Any]:
    """The method of that name; it notes its name and the argument's for each tensor it changes."""
    method = getattr(encoding, name)

    def watched(*arguments: Any, **named: Any) -> Any:
        bound = inspect.signature(method).bind(*arguments, **named).arguments
        tensors = {key: value for key, value in bound.items() if isinstance(value, Tensor)}
        before = {key: tensor.clone() for key, tensor in tensors.items()}
        result = method(*arguments, **named)
        changed.extend((name, key) for key in tensors if not torch.equal(tensors[key], before[key]))
        return result

    return watched


def causal(examined: MultiHeadAttention, length: int = LENGTH) -> str:
    """What comes later, or that anything does, changes nothing that came before."""
    x, ids, half = words(examined, 2, length), _ids(2, length), length // 2
    other_x = torch.cat([x[:, :half], words(examined, 2, length - half, seed=1)], 1)
    other_ids = torch.cat([ids[:, :half], (ids[:, half:] + 1) % VOCABULARY], 1)
    whole = examined(x, tokens=ids)[0][:, :half]
    changed = {
        "with other words": examined(other_x, tokens=other_ids)[0][:, :half],
        "without words": examined(x[:, :half], tokens=ids[:, :half])[0],
    }
    for name, out in changed.items():
        gap = _gap(whole, out)
        if not gap < ROUNDING:
            return f"{name} after the first {half}, these come out otherwise, by up to {gap:.2g}"
    return ""


def looks_ahead(examined: MultiHeadAttention) -> str:
    """What later tokens change, in texts of every length from 12 to 96 that start anywhere.

    The starts tile the positions from 0 to 8,137, so that no stretch of 100 of them is left out.
    Texts are of random bytes, and of English ones. If the encoding has parameters, some texts are
    read with them as they are and others with moved ones.
    """
    as_made, *moved = _as_made_and_moved(examined)
    up, down = moved or (as_made, as_made)
    generator = torch.Generator().manual_seed(0)
    english = text.documentation()
    weight = examined.W_q.weight
    table = torch.randn(VOCABULARY, examined.d_model, generator=generator).to(weight)
    for number, (length, tile) in enumerate(STARTS.items()):
        excerpt = english[1000 * number : 1000 * number + length]
        random = torch.randint(VOCABULARY, (length,), generator=generator)
        passages = [
            (up, random, 0, 32),
            (down, random, tile, 12),
            (up, random, SHIFTS[-1], 12),
            (down, excerpt, 0, 12),
        ]
        passages += [(as_made, random, 0, 12)] if moved else []
        for reader, passage, start, n_cuts in passages:
            ids, cuts = _changed_from(passage, n_cuts, generator)
            positions = torch.arange(length) + start
            read = partial(_output, reader, table=table, positions=positions)
            plain, changed = read(ids[:1]), read(ids[1:])
            is_before = torch.arange(length) < cuts[:, None]
            gap = float((changed - plain).abs().amax(-1)[is_before].max().nan_to_num(torch.inf))
            if start == 0:  # far away, an integrated encoding rounds otherwise in a shorter text
                shorter = length // 2
                gap = max(gap, _gap(read(ids[:1, :shorter]), plain[:, :shorter]))
            if not gap < ROUNDING:
                place = f"of {length} tokens from position {start} on"
                return f"{place}, later ones change what comes before them, by up to {gap:.2g}"
    return ""


def leaks_in_a_crowd(examined: MultiHeadAttention) -> str:
    """What later tokens change in many texts at once, in training mode too.

    The crowds are those in which lesson 11 trains and judges, and a larger one. Both readings draw
    the same random numbers, for an encoding that draws some in training.
    """
    generator = torch.Generator().manual_seed(0)
    weight = examined.W_q.weight
    table = torch.randn(VOCABULARY, examined.d_model, generator=generator).to(weight)
    for training, (texts, length) in itertools.product((False, True), CROWDS):
        half = length // 2
        for ids, reader in itertools.product(
            (_ids(texts, length), _english(texts, length)), _as_made_and_moved(examined)
        ):
            changed = torch.cat([ids[:, :half], (ids[:, half:] + 1) % VOCABULARY], 1)
            able = copy.deepcopy(reader).train(training)
            outs = []
            for tokens in (ids, changed):
                with isolated_rng(0):
                    outs.append(able(table[tokens], tokens=tokens)[0][:, :half])
            gap = _gap(*outs)
            if not gap < ROUNDING:
                crowd = f"of {texts} texts at once{' in training' * training}"
                return f"{crowd}, later tokens change what comes before them, by up to {gap:.2g}"
    return ""


def _changed_from(ids: Tensor, n_cuts: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """A text, and n_cuts copies with other tokens from some place on: ids, and those places."""
    length = len(ids)
    others = torch.randint(1, VOCABULARY, (n_cuts, length), generator=generator)
    cuts = torch.randint(1, length, (n_cuts,), generator=generator)
    cuts[0] = length - 1
    is_later = torch.arange(length) >= cuts[:, None]
    changed = torch.where(is_later, (ids + others) % VOCABULARY, ids)
    return torch.cat([ids[None], changed]), cuts


def _output(
    examined: MultiHeadAttention, ids: Tensor, *, table: Tensor, positions: Tensor
) -> Tensor:
    return examined(table[ids], positions[: ids.shape[1]], tokens=ids)[0]


def cached(examined: MultiHeadAttention, length: int = LENGTH) -> str:
    """Read in pieces with a cache, a text comes out as when it is read whole.

    The pieces are of 5, 1 and all other tokens, and then of one token each, up to the 96th. Each
    reader is a fresh copy, since some encodings remember the longest text that they have read.
    """
    x, ids = words(examined, 2, length), _english_and_random(2, length)
    singly = min(length, LENGTHS[1])
    whole = copy.deepcopy(examined)(x, tokens=ids)[0]
    for name, sizes in (
        ("in pieces", [5, 1, length - 6]),
        ("token by token", [1] * singly + [length - singly] * (length > singly)),
    ):
        reader, cache = copy.deepcopy(examined), KVCache()
        pieces = zip(x.split(sizes, dim=1), ids.split(sizes, dim=1), strict=True)
        parts = [reader(piece, cache=cache, tokens=tokens)[0] for piece, tokens in pieces]
        gap = _gap(torch.cat(parts, 1), whole)
        if not gap < ROUNDING:
            return (
                f"{name} the output differs by up to {gap:.2g}. What does your method see of the "
                "words before a piece, and of those that are yet to come?"
            )
    return ""


def batched(examined: MultiHeadAttention, length: int = LENGTH) -> str:
    """A text comes out alone as it does among others, padded to their length or not."""
    x, ids = words(examined, 3, length), _english_and_random(3, length)
    alone = [examined(x[n : n + 1], tokens=ids[n : n + 1])[0] for n in range(3)]
    gap = _gap(examined(x, tokens=ids)[0], torch.cat(alone))
    if not gap < ROUNDING:
        return f"alone the output differs by up to {gap:.2g}"
    short = length // 2
    for name, first in (("after it", 0), ("before it", length - short)):
        text = slice(first, first + short)
        mask = torch.zeros(3, length, dtype=torch.bool)
        mask[0], mask[1:, text] = True, True
        try:
            padded = examined(x, tokens=ids, attention_mask=mask)[0][1:, text]
        except (RuntimeError, ValueError) as error:
            message = f"with padding, where at.q and at.k are (batch, seq), it fails: {error}"
            does_not_fit = "broadcast" in str(error) or "must match the size" in str(error)
            return f"{message}. {FITS_BOTH}" if does_not_fit else message
        gap = _gap(padded, examined(x[1:, text], tokens=ids[1:, text])[0])
        if not gap < ROUNDING:
            return (
                f"with padding {name} the output of a text differs by up to {gap:.2g}. Which "
                "numbers of your method come from words that are not of the text?"
            )
    return ""


def forgets(examined: MultiHeadAttention) -> str:
    """A text comes out as before when a longer one has been read meanwhile."""
    x, ids, longer = words(examined), _ids(1, 16), LENGTHS[-1]
    reader = copy.deepcopy(examined)
    reader(words(examined, 1, longer, seed=1), tokens=_ids(1, longer, seed=1))
    gap = _gap(copy.deepcopy(examined)(x, tokens=ids)[0], reader(x, tokens=ids)[0])
    if not gap < ROUNDING:
        return (
            f"it remembers an earlier text: after one of {longer} tokens the output of another "
            f"differs by up to {gap:.2g}"
        )
    return ""


def keeps_no_count(examined: MultiHeadAttention) -> str:
    """A text comes out the same however often the layer was called before, and on what.

    It is read again and again, with other texts between, in training mode too; then twice more, and
    nothing that the encoding can reach may change between these two, nor outside training the
    generators of random numbers. So a count is found before it is large enough to matter, wherever
    it is kept but in a library, in a file or in a clock. What computes once and keeps it passes.
    """
    x, ids = words(examined, 2, LENGTH), _english_and_random(2, LENGTH)
    reader, calls = copy.deepcopy(examined), 0
    fresh = {training: copy.deepcopy(examined).train(training) for training in (False, True)}
    meant = {training: _with_the_same_draws(able, x, ids) for training, able in fresh.items()}
    # One that draws from a generator of its own in training has no output of a text there.
    repeats = torch.equal(meant[True], _with_the_same_draws(fresh[True], x, ids))
    for training, rounds in ((False, ROUNDS), (True, ROUNDS), (False, 1)):
        reader.train(training)
        for number in range(rounds):
            length = LENGTH + number % LENGTH
            seed = number + ROUNDS * training
            other = words(examined, 1, length, seed=seed), _ids(1, length, seed=seed)
            _with_the_same_draws(reader, *other)
            out, calls = _with_the_same_draws(reader, x, ids), calls + 2
            gap = _gap(out, meant[training]) if repeats or not training else 0.0
            if not gap < ROUNDING:
                return f"after {calls} calls the output of the same text differs by up to {gap:.2g}"
        if complaint := _what_a_call_changes(reader, x, ids):
            return complaint
    return ""


def _what_a_call_changes(reader: MultiHeadAttention, x: Tensor, ids: Tensor) -> str:
    """A complaint if reading a text once more changes what the encoding can reach."""
    before_and_after = []
    for _ in range(2):
        reader(x, tokens=ids)
        before_and_after.append(
            (
                reachable_state(reader.encoding, with_generators=not reader.training),
                shared_generators(),
            )
        )
    (held, drawn), (held_later, drawn_later) = before_and_after
    for name in drawn:
        if drawn[name] != drawn_later[name] and not reader.training:
            return f"outside training it draws from {name}, so a text has no output of its own"
    for name in held | held_later:
        if name not in held or name not in held_later or held[name] != held_later[name]:
            return (
                f"{short_name(name)} changes whenever the same text is read again. What has an "
                "output to do with what was read before?"
            )
    return ""


def _with_the_same_draws(reader: MultiHeadAttention, x: Tensor, ids: Tensor) -> Tensor:
    """The output; in training, from the same random numbers each time."""
    if not reader.training:
        return reader(x, tokens=ids)[0]
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(0), np.random.seed(0)  # noqa: NPY002
    try:
        with isolated_rng(0):
            return reader(x, tokens=ids)[0]
    finally:
        random.setstate(python), np.random.set_state(numpy)  # noqa: NPY002


def any_dtype(examined: MultiHeadAttention, length: int = LENGTH) -> str:
    """The output has the dtype of the words; float32 agrees with float64, to 0.0001 of its size."""
    x, ids, outs = words(examined, 1, length), _english_and_random(1, length), {}
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        outs[dtype] = copy.deepcopy(examined).to(dtype)(x.to(dtype), tokens=ids)[0]
        if outs[dtype].dtype != dtype:
            return f"{dtype} goes in, {outs[dtype].dtype} comes out"
    gap = _gap(outs[torch.float64], outs[torch.float32])
    size = max(1.0, float(outs[torch.float64].abs().max()))
    return "" if gap < ROUNDING * size else f"float32 and float64 differ by up to {gap:.2g}"


def trained(examined: MultiHeadAttention) -> str:
    """Every parameter of the encoding gets a gradient: finite, and more than rounding, in float64.

    What a parameter adds to the scores of all keys alike, softmax cancels: its gradient is 0. A
    gate that starts at 0 keeps the gradient from what it multiplies until it has moved; so each
    parameter has to get one as made or moved.
    """
    without: dict[str, int] = {}  # parameter → how many of the readers give it no gradient
    readers = _as_made_and_moved(examined)
    for reader in readers:
        able = copy.deepcopy(reader).double().requires_grad_(True)
        for length in LENGTHS:
            ids = _english_and_random(2, length)
            able(words(able, 2, length), tokens=ids)[0].square().sum().backward()
        for name, parameter in able.named_parameters() if reader is examined else ():
            if parameter.grad is not None and not bool(parameter.grad.isfinite().all()):
                return (
                    f"{name.removeprefix('encoding.')} gets a gradient that is not finite. A "
                    "word's offset to itself is 0: is there a negative power, a root or a "
                    "logarithm of it?"
                )
        for name, parameter in able.encoding.named_parameters():
            if parameter.grad is None or not bool((parameter.grad.abs() > NO_GRADIENT).any()):
                without[name] = without.get(name, 0) + 1
    for name, times in without.items():
        if times == len(readers):
            return (
                f"{name} gets no gradient. Does your class make it and no longer use it? Or does "
                "it add the same to the scores of all keys? That, softmax cancels."
            )
    return ""


def anywhere(examined: MultiHeadAttention, length: int = LENGTH) -> str:
    """Moved as a whole, a text has the same attention weights."""
    x, ids, row = words(examined, 2, length), _ids(2, length), torch.arange(length)
    examined(x, row, tokens=ids)  # refuses a bias of a wrong shape, which weights may not
    near = examined(x, row, need_weights=True, tokens=ids)[1]
    for shift in SHIFTS:
        far = examined(x, row + shift, need_weights=True, tokens=ids)[1]
        assert near is not None and far is not None
        gap = _gap(near, far)
        if not gap < 10 * ROUNDING:
            return f"moved by {shift}, weights differ by up to {gap:.2g}"
    return ""


Property = Callable[[MultiHeadAttention, int], str]

BY_LENGTH: dict[str, Property] = {
    "causal": causal,
    "cache = whole": cached,
    "batch = alone": batched,
    "dtype": any_dtype,
    "shift": anywhere,
}
PROPERTIES = ("doors", "causal", "cache = whole", "batch = alone", "dtype", "gradient", "shift")
# With moved parameters too
OF_ALL_PARAMETERS = ("causal", "cache = whole", "batch = alone", "shift")
OF_DECODERS = ("causal", "cache = whole")  # what attention without a mask does not owe


def _in_float64_too(holds: Callable[..., str]) -> Callable[..., str]:
    """The property; it complains only if it does so of the layer in float64 too.

    What float64 does not show is rounding: large numbers in the words lose digits in float32.
    """

    def surely_holds(examined: MultiHeadAttention, *arguments: Any) -> str:
        in_float64 = copy.deepcopy(examined).double()
        complaint = holds(examined, *arguments)
        return complaint if complaint and _or_error(holds, in_float64, *arguments) else ""

    return surely_holds


def _sure(name: str) -> Callable[..., str]:
    """The property of this name, in float64 too if it compares outputs of one dtype."""
    holds = BY_LENGTH[name]
    return _in_float64_too(holds) if name in OF_ALL_PARAMETERS else holds


def properties(
    maker: str | Maker, d_model: int = 64, n_heads: int = 4, *, causal: bool = True
) -> dict[str, str]:
    """What is wrong with an encoding, by property; "" where it holds.

    Each is tried at 12, 96 and 512 tokens, *causal* at every length from 12 to 96 and up to
    position 8,137, and in up to 130 texts at once, in training mode too; *causal* and *cache =
    whole* in two layers. *batch = alone* also asks whether an output is the same after some hundred
    calls, and whether a call changes anything that the next one sees. These three and *shift* are
    tried with the encoding's parameters as they are and with other ones, since what starts at 0
    does nothing there; *gradient* asks for one in any of the three. A maker that takes ``max_len``
    is tried with that of the lesson's training too, on texts of 12 tokens. ``maker`` is a name or a
    class, as for ``create``. With ``causal=False`` it is examined for an encoder, which owes
    neither *causal* nor *cache = whole*.
    Each property gets a fresh copy.
    "shift" is no duty but a promise: schemes that see places, such as sinusoids, break it and are
    right all the same. An error that the encoding raises is what is wrong with it.
    """
    sizes: dict[str, Any] = {"d_model": d_model, "n_heads": n_heads, "max_len": 2 * SHIFTS[-1]}
    owed = {name: holds for name, holds in BY_LENGTH.items() if causal or name not in OF_DECODERS}
    try:
        examined = layer(create(maker, causal=causal, **sizes), causal=causal)
    except Exception as error:  # it is somebody's first try
        return dict.fromkeys(_names(owed), _in_words(error))
    if complaint := keeps_its_arguments(examined):
        return dict.fromkeys(_names(owed), complaint)
    wrong = {"doors": doors(examined)}
    wrong |= {name: _at_all_lengths(_sure(name), examined) for name in owed}
    wrong["gradient"] = _or_error(trained, examined)
    wrong = {name: wrong[name] for name in _names(owed)}
    for moved in _as_made_and_moved(examined)[1:]:
        for name in OF_ALL_PARAMETERS:
            if name in owed and not wrong[name]:
                complaint = _at_all_lengths(_sure(name), moved)
                wrong[name] = complaint and f"with other parameters, {complaint}"
    for reader in _as_made_and_moved(examined):
        wrong["batch = alone"] = wrong["batch = alone"] or _or_error(
            _in_float64_too(forgets), reader
        )
    for name, complaint in _as_in_training(maker, owed, sizes, causal).items():
        wrong[name] = wrong[name] or complaint
    if causal:
        if not wrong["causal"] and not wrong["batch = alone"]:  # texts are compared across batches
            wrong["causal"] = _or_error(_in_float64_too(looks_ahead), copy.deepcopy(examined))
        if not wrong["causal"]:
            wrong["causal"] = _or_error(_in_float64_too(leaks_in_a_crowd), copy.deepcopy(examined))
        for name, complaint in _in_two_layers(maker, sizes).items():
            wrong[name] = wrong[name] or f"in two layers, {complaint}"
    for reader in _as_made_and_moved(examined)[:2]:
        wrong["batch = alone"] = wrong["batch = alone"] or _or_error(
            _in_float64_too(keeps_no_count), reader
        )
    return wrong


def _names(owed: Mapping[str, Property]) -> list[str]:
    """The names of the properties that are tried, in order."""
    return [name for name in PROPERTIES if name in owed or name not in BY_LENGTH]


def _as_in_training(
    maker: str | Maker, owed: Mapping[str, Property], sizes: dict[str, Any], causal: bool
) -> dict[str, str]:
    """Complaints about what ``maker`` makes at the ``max_len`` of lesson 11's training.

    Nothing for a maker that takes no ``max_len``.
    """
    if "max_len" not in parameters_of(maker_of(maker)):
        return {}
    encoding = create(maker, causal=causal, **(sizes | {"max_len": SHORT_TRAINING}))
    wrong: dict[str, str] = {}
    for reader, name in itertools.product(
        _as_made_and_moved(layer(encoding, causal=causal)), OF_ALL_PARAMETERS
    ):
        if name in owed and not wrong.get(name):
            complaint = _or_error(_sure(name), copy.deepcopy(reader), LENGTH)
            wrong[name] = complaint and f"with max_len {SHORT_TRAINING}, {complaint}"
    return wrong


def order_counts(maker: str | Maker, d_model: int = 64, n_heads: int = 4) -> bool:
    """Whether an output depends on the order of the words before it, in one causal layer.

    The last word's output is compared for 12 words and for the same with the first 11 reversed,
    with the encoding's parameters as they are and moved. Nobody owes this: ``none`` is sound. But
    a bias that is the same for all keys does no more, since softmax cancels it.
    """
    encoding = create(maker, d_model=d_model, n_heads=n_heads, max_len=SHORT_TRAINING, causal=True)
    examined = layer(encoding, causal=True)
    order = torch.tensor([*range(LENGTH - 1)][::-1] + [LENGTH - 1])
    x, ids = words(examined, 1, LENGTH), _ids(1, LENGTH)
    return any(
        _gap(reader(x, tokens=ids)[0][:, -1], reader(x[:, order], tokens=ids[:, order])[0][:, -1])
        > ROUNDING
        for reader in _as_made_and_moved(examined)
    )


def sound(complaints: Mapping[str, str]) -> bool:
    """Whether all holds that every encoding owes, by what :func:`properties` returned."""
    return not any(complaint for name, complaint in complaints.items() if name != "shift")


def _at_all_lengths(holds: Property, examined: MultiHeadAttention) -> str:
    """The first complaint about a property, from the shortest text on."""
    for length in LENGTHS:
        complaint = _or_error(holds, copy.deepcopy(examined), length)
        if complaint:
            return complaint if length == LENGTH else f"of {length} tokens, {complaint}"
    return ""


def _or_error(holds: Callable[..., str], *arguments: Any) -> str:
    """A complaint, or the error that came instead."""
    try:
        return holds(*arguments)
    except Exception as error:  # it is somebody's first try
        return _in_words(error)


def _in_words(error: Exception) -> str:
    """An error's type and message; a question, if a usual slip led to it."""
    message = f"{type(error).__name__}: {error}"
    calls = {frame.name for frame in traceback.extract_tb(error.__traceback__)}
    if isinstance(error, RuntimeError) and "must match the size" in str(error):
        if "bias_by_offset" in calls:
            message += (
                ". bias_by_offset returns (heads, offsets): which of your numbers, one a head, "
                "needs [:, None]?"
            )
        elif "bias" in calls:
            message += f". {FITS_BOTH}"
        elif "values" in calls:
            message += (
                ". values gets weights (batch, heads, queries, keys) and returns (batch, heads, "
                "queries, d_head): did a sum over the keys lose its axis? See keepdim=True."
            )
        elif "rotate" in calls:
            message += (
                ". q and k are (batch, heads, n, d_head), at.q and at.k are (n,) or (batch, n): "
                "what does at.q[..., None, :, None] add?"
            )
        elif "embed" in calls:
            message += (
                ". positions are (n,) or (batch, n), x is (batch, n, d_model): what does "
                "positions[..., None] add?"
            )
    if isinstance(error, RuntimeError) and any(word in str(error) for word in ("dtype", "scalar")):
        message += ". Words come in float32, float64 or bfloat16: do your tensors follow x.dtype?"
    if isinstance(error, ValueError) and "bias_by_offset returns must have shape" in str(error):
        message += (
            ": (heads, offsets). A text of n words has 2n − 1 offsets, from −(n − 1) to n − 1. Has "
            "each head a number for each of them?"
        )
    if isinstance(error, IndexError):
        message += f". {OFFSETS_AFTER_TOO if 'bias_by_offset' in calls else FAR_POSITIONS}"
    questions = (question for words, question in USUAL_SLIPS.items() if re.search(words, message))
    if question := next(questions, ""):
        message = f"{message.rstrip('.')}. {question}"
    return message


def _in_two_layers(
    maker: str | Maker, sizes: dict[str, Any], dtype: torch.dtype = torch.float32
) -> dict[str, str]:
    """Complaints about a model of two layers, by property, with parameters as made and moved."""
    length = LENGTHS[1]
    ids, half = _ids(2, length), length // 2
    changed_later = torch.cat([ids[:, :half], (ids[:, half:] + 1) % VOCABULARY], 1)
    complaints: dict[str, str] = {}
    for sign in (0, 1, -1):
        try:
            with isolated_rng(0), torch.no_grad():
                model = TinyTransformer(VOCABULARY, maker, n_layers=2, **sizes).eval().to(dtype)
                for module in model.modules():
                    if isinstance(module, PositionalEncoding):
                        _move(module, sign)
                whole, cache = model(ids), model.new_cache()
                parts = ids.split((5, 1, length - 6), dim=1)
                pieces = [model(part, cache=cache) for part in parts]
                leak = _gap(whole[:, :half], model(changed_later)[:, :half])
                lost = _gap(whole, torch.cat(pieces, 1))
        except Exception as error:  # it is somebody's first try
            return {"causal": _in_words(error)}
        if not leak < ROUNDING:
            complaints["causal"] = f"later tokens change earlier logits, by up to {leak:.2g}"
        if not lost < ROUNDING:
            complaints["cache = whole"] = f"in pieces the logits differ by up to {lost:.2g}"
    if complaints and dtype != torch.float64:  # what float64 does not show is rounding
        surely = _in_two_layers(maker, sizes, torch.float64)
        complaints = {name: text for name, text in complaints.items() if name in surely}
    return complaints
