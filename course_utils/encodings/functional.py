"""The formulas behind the encodings as pure functions, collected from the files of the schemes."""

from course_utils.encodings.alibi import alibi_bias, alibi_slopes
from course_utils.encodings.cope import contextual_counts, interpolated
from course_utils.encodings.deberta import deberta_index, deberta_scores
from course_utils.encodings.fire import fire_psi, fire_share
from course_utils.encodings.grid import axial_angles, sinusoidal_grid
from course_utils.encodings.kerple import kerple_log, kerple_power
from course_utils.encodings.layouts import LAYOUTS, convert_layout, layout_order
from course_utils.encodings.log_n import log_n_factor
from course_utils.encodings.offsets import offset_matrix, skew, toeplitz
from course_utils.encodings.positions import by_offset
from course_utils.encodings.rope import (
    apply_rope,
    rope_angles,
    rope_frequencies,
    rotate_pairs,
    scaled_frequencies,
)
from course_utils.encodings.sandwich import sandwich_bias
from course_utils.encodings.shaw import clip_offsets, shaw_scores, shaw_values
from course_utils.encodings.sinusoidal import (
    shift_matrix,
    sinusoidal_frequencies,
    sinusoidal_table,
    wavelengths,
)
from course_utils.encodings.t5 import t5_bucket
from course_utils.encodings.transformer_xl import sinusoidal_scores
from course_utils.encodings.xpos import xpos_scale

__all__ = [
    "LAYOUTS",
    "alibi_bias",
    "alibi_slopes",
    "apply_rope",
    "axial_angles",
    "by_offset",
    "clip_offsets",
    "contextual_counts",
    "convert_layout",
    "deberta_index",
    "deberta_scores",
    "fire_psi",
    "fire_share",
    "interpolated",
    "kerple_log",
    "kerple_power",
    "layout_order",
    "log_n_factor",
    "offset_matrix",
    "rope_angles",
    "rope_frequencies",
    "rotate_pairs",
    "sandwich_bias",
    "scaled_frequencies",
    "shaw_scores",
    "shaw_values",
    "shift_matrix",
    "sinusoidal_frequencies",
    "sinusoidal_grid",
    "sinusoidal_scores",
    "sinusoidal_table",
    "skew",
    "t5_bucket",
    "toeplitz",
    "wavelengths",
    "xpos_scale",
]
