"""The trained position table that lessons look into."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.texts import data


def position_table() -> Float[Tensor, "positions width"]:
    """A real trained position table: (512, 384) float32, from a BERT-like sentence encoder.

    Row p was added to the word vectors at position p. Kept as float16, so rounded to 11 bits.
    """
    with np.load(data.verified("position_table.npz"), allow_pickle=False) as arrays:
        return torch.from_numpy(arrays["table"].astype(np.float32))
