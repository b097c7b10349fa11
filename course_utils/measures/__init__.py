"""Numbers about attention weights, tables of vectors and encodings, one function a question.

Nothing here draws: ``plots`` does. Nothing here trains: ``experiments`` does.
"""

from course_utils.measures.encodings import equivariance_error as equivariance_error
from course_utils.measures.encodings import fingerprint as fingerprint
from course_utils.measures.encodings import position_scores as position_scores
from course_utils.measures.matrices import entropy as entropy
from course_utils.measures.matrices import similarity_matrix as similarity_matrix
from course_utils.measures.matrices import toeplitz_error as toeplitz_error
from course_utils.measures.passports import passport as passport
from course_utils.measures.rotary import mean_products as mean_products
from course_utils.measures.rotary import pair_shares as pair_shares
from course_utils.measures.turns import hands as hands
from course_utils.measures.turns import main_directions as main_directions
from course_utils.measures.turns import missed_share as missed_share
from course_utils.measures.turns import turn as turn
