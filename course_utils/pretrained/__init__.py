"""Two published models behind the course's four doors: a sentence encoder and a language model."""

from course_utils.pretrained.language_model import SmolLM2, smollm2
from course_utils.pretrained.sentence_encoder import MiniLM, minilm
from course_utils.pretrained.wheel_files import missing

__all__ = ["MiniLM", "SmolLM2", "minilm", "missing", "smollm2"]
