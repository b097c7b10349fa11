"""Numbers about attention weights, tables of vectors and encodings, one function a question.

Nothing here draws: ``plots`` does. Nothing here trains: ``experiments`` does.
"""

from course_utils.measures.encodings import (
    content_spread,
    equivariance_error,
    fingerprint,
    position_scores,
)
from course_utils.measures.passports import passport, passport_text
from course_utils.measures.rotary import mean_products, pair_shares
from course_utils.measures.tables import (
    linear_probe,
    nearest_pair,
    similarity_by_offset,
    similarity_matrix,
    toeplitz_error,
)
from course_utils.measures.weights import diagonal_strength, entropy

__all__ = [
    "content_spread",
    "diagonal_strength",
    "entropy",
    "equivariance_error",
    "fingerprint",
    "linear_probe",
    "mean_products",
    "nearest_pair",
    "pair_shares",
    "passport",
    "passport_text",
    "position_scores",
    "similarity_by_offset",
    "similarity_matrix",
    "toeplitz_error",
]
