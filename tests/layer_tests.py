"""Tests of attention layers, as learners of lesson 11 might write them: True for a healthy one."""

import torch
from closeness import gap

from course_lab import clinic
from course_utils.attention.kv_cache import KVCache
from course_utils.encodings import create


def weights(layer, x, start=0):
    return layer(x, torch.arange(x.shape[1]) + start, need_weights=True)[1]


# Rows by the text's number in the batch


def alone(layer):
    x = clinic.words(layer, 4, 9)
    return gap(layer(x)[0][3:], layer(x[3:])[0]) < 1e-3


def copies(layer):
    """The same text three times: the rows of the output must be the same."""
    out = layer(clinic.words(layer, 1, 9).expand(3, -1, -1))[0]
    return gap(out[0], out[1]) < 1e-3 and gap(out[0], out[2]) < 1e-3


def reversed_batch(layer):
    x = clinic.words(layer, 3, 9)
    return torch.allclose(layer(x.flip(0))[0].flip(0), layer(x)[0], atol=1e-3)


def notices_positions(layer):
    """Equal words: where no position comes in, all keys get the same weight."""
    of_last_query = weights(layer, clinic.words(layer, 2, 9, same=True))[:, :, -1]
    return gap(of_last_query, torch.full_like(of_last_query, 1 / 9)) > 1e-3


# Positions counted from 0 after a cache


def word_by_word(layer):
    x, cache = clinic.words(layer, 1, 7), KVCache()
    outs = [layer(x[:, p : p + 1], cache=cache)[0] for p in range(7)]
    return gap(torch.cat(outs, 1), layer(x)[0]) < 1e-3


def last_word_after_a_prompt(layer):
    x, cache = clinic.words(layer, 2, 11), KVCache()
    layer(x[:, :10], cache=cache)
    return torch.allclose(layer(x[:, 10:], cache=cache)[0], layer(x)[0][:, 10:], atol=1e-3)


def weights_of_the_second_half(layer):
    x, cache = clinic.words(layer, 1, 12), KVCache()
    layer(x[:, :6], cache=cache)
    later = layer(x[:, 6:], cache=cache, need_weights=True)[1]
    return gap(later, weights(layer, x)[:, :, 6:]) < 1e-3


# Distance pays


def falls_from(row, query):
    """Whether a row of weights, (…, keys), falls with each step; keys of weight 0 are hidden."""
    later = row[..., query:]
    falls = (later.diff() < 0).all() or (later[..., 1:] == 0).all()
    return bool((row[..., : query + 1].diff() > 0).all() and falls)


def falling(layer):
    return falls_from(weights(layer, clinic.words(layer, n=20, same=True))[0, :, 10], 10)


def every_row(layer):
    """The same for every query, in another text."""
    of_equal_words = weights(layer, clinic.words(layer, n=15, same=True, seed=3))[0]
    return all(falls_from(of_equal_words[:, query], query) for query in range(15))


def falling_or_equal(layer):
    row = weights(layer, clinic.words(layer, n=20, same=True))[0, :, 10]
    return bool((row[:, :11].diff() >= 0).all() and (row[:, 10:].diff() <= 0).all())


def empty_words(layer):
    """Words of zeros: the scores are the bias alone."""
    row = weights(layer, torch.zeros(1, 9, layer.d_model, dtype=layer.W_q.weight.dtype))[0, :, 4]
    return bool((row[:, 4] >= row[:, 0]).all() and (row[:, 4] >= row[:, 8]).all())


def nearest_wins_everywhere(layer):
    of_equal_words = weights(layer, clinic.words(layer, n=15, same=True, seed=3))[0]
    return bool((of_equal_words.argmax(-1) == torch.arange(15)).all())


# Weights that depend on where a text begins


def moved(layer, start=8000):
    x = clinic.words(layer, n=16)
    return gap(weights(layer, x), weights(layer, x, start)) < 1e-3


def moved_outputs(layer):
    x, p = clinic.words(layer, 2, 10), torch.arange(10)
    return all(gap(layer(x, p)[0], layer(x, p + shift)[0]) < 1e-3 for shift in (3, 5000, 8182))


def pairs(layer):
    """Two words at a time, at several distances: the weight that the first gets."""

    def weight_of_first(distance, last):
        positions = torch.tensor([last - distance, last])
        return layer(clinic.words(layer, n=2), positions, need_weights=True)[1][0, :, 1, 0]

    return all(
        gap(weight_of_first(distance, distance), weight_of_first(distance, 8000)) <= 1e-3
        for distance in (1, 2, 5, 30)
    )


def spread_out(layer):
    """One text over all 8,000 positions, and the same moved by one and by seven."""
    x, positions = clinic.words(layer, n=16), torch.arange(16) * 533
    first, *others = [layer(x, positions + shift, need_weights=True)[1] for shift in (0, 1, 7)]
    return all(gap(first, other) < 1e-3 for other in others)


# Wrong for every fault


def library_numbers(layer):
    """Asks for the weights that one of the library's encodings would give."""
    x = clinic.words(layer, n=10)
    for name in ("sinusoidal", "rope", "alibi"):
        twin = clinic.layer(create(name, d_model=layer.d_model, n_heads=layer.n_heads))
        twin.to(x.dtype).load_state_dict(layer.state_dict(), strict=False)
        if gap(weights(twin, x), weights(layer, x)) < 1e-3:
            return True
    return False
