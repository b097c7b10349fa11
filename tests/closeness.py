"""The difference of two tensors."""


def gap(a, b):
    """The largest absolute difference of two tensors, in float64."""
    return float((a.double() - b.double()).detach().abs().max())
