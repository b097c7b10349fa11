"""Two published models behind the course's four doors: a sentence encoder and a language model."""

from course_utils.pretrained.language_model import SmolLM2 as SmolLM2
from course_utils.pretrained.language_model import smollm2 as smollm2
from course_utils.pretrained.sentence_encoder import MiniLM as MiniLM
from course_utils.pretrained.sentence_encoder import minilm as minilm
from course_utils.pretrained.wheel_files import missing as missing
