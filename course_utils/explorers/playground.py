"""Attention over one short sentence: its sharpness, and what a shuffle does to it."""

import math
from itertools import islice, permutations

import torch
from matplotlib.figure import Figure

from course_utils import measures, plots
from course_utils.attention import MultiHeadAttention
from course_utils.encodings import create
from course_utils.sentences import CAT_ON_MAT, word_vectors

WORDS = list(CAT_ON_MAT)
D_MODEL, N_HEADS = 32, 2


def sharpness(fig: Figure, factor: float) -> str:
    """Attention of "cat" over a sentence, with its scores multiplied by ``factor``."""
    vectors = word_vectors(WORDS, D_MODEL)
    scores = vectors @ vectors[1] / math.sqrt(D_MODEL)  # (words)
    weights = (factor * scores).softmax(-1)
    nats = float(measures.entropy(weights[None])[0])
    if not fig.axes:
        ax = fig.subplots()
        ax.bar(range(len(WORDS)), weights.tolist(), color="#0173b2")
        ax.set(ylim=(0, 1.05), ylabel="attention weight", title="whom “cat” attends to")
        ax.set_xticks(range(len(WORDS)), WORDS)
    for bar, weight in zip(fig.axes[0].patches, weights.tolist(), strict=True):
        bar.set_height(weight)  # type: ignore[attr-defined]
    return (
        f"Entropy {nats:.2f} of at most {math.log(len(WORDS)):.2f} nats; "
        f"largest weight {float(weights.max()):.2f}."
    )


def shuffle(fig: Figure, shuffle: int, encoding: str, causal: bool) -> str:
    """Attention of a shuffled sentence, put back in order, and its gap to the original."""
    attention = playground_attention(encoding, causal)
    x = 2 * word_vectors(WORDS, D_MODEL)[None]  # twice as long, for clearer preferences
    # Fixed shuffles, far apart in the dictionary order of all; number 0 is the sentence as it was.
    rank = 307 * shuffle % math.factorial(len(WORDS))
    perm = torch.tensor(next(islice(permutations(range(len(WORDS))), rank, None)))
    with torch.no_grad():
        original = attention(x, need_weights=True)[1][0, 0]
        shuffled = attention(x[:, perm], need_weights=True)[1][0, 0]
    back = perm.argsort()
    put_back = shuffled[back][:, back]
    gap = put_back - original
    order = [WORDS[place] for place in perm]
    if not fig.axes:
        axes = fig.subplots(1, 3)
        plots.attention(axes[0], shuffled, None, title="shuffled")
        plots.attention(axes[1], shuffled, None, title="put back in order")
        plots.heatmap(
            axes[2], gap, title="minus the original", xlabel="key", ylabel="query",
            unit="weight", limit=0.5, equal=True,
        )  # fmt: skip
        for ax in axes:
            ax.set_xticks(range(len(WORDS)), WORDS, rotation=90)
            ax.set_yticks(range(len(WORDS)), WORDS)
    for ax, matrix in zip(fig.axes[:3], (shuffled, put_back, gap), strict=True):
        ax.images[0].set_data(matrix.numpy())  # the colour bar is a fourth axes
    fig.axes[0].set_xticklabels(order)
    fig.axes[0].set_yticklabels(order)
    largest = float(gap.abs().max())
    size = "rounding noise" if largest < 1e-5 else f"{largest:.2f}"
    return f"Word order: {' '.join(order)}. Largest difference after putting back: {size}."


def playground_attention(encoding: str, causal: bool) -> MultiHeadAttention:
    """The small random attention of :func:`shuffle`, the same at every call."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)  # torch.manual_seed would seed a GPU too
        made = create(encoding, d_model=D_MODEL, n_heads=N_HEADS)
        return MultiHeadAttention(D_MODEL, N_HEADS, made, causal=causal)
