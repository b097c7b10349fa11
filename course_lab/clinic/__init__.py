"""Attention layers with a known fault, on which lesson 11's learners try the tests that they write.

The lesson speaks of a clinic: a faulty layer is sick, a test is a diagnosis. ``faulty_encodings``
are the faults and ``layers`` makes attention layers with them. ``held_back`` are layers that grade
a test, sick and healthy ones; ``open_patients`` are the six models that the learner may look at,
trained by ``trainings``. ``readings`` reads one text in several ways.
``properties`` says what an encoding of one's own must keep to. Use nothing of this in a model.
"""

from course_lab.clinic.held_back import (
    FAULTS,
    Patient,
    accepts,
    grade,
    grade_beside_reference,
    healthy,
    smallest_starts,
    unnamed_layers,
    ward,
)
from course_lab.clinic.layers import layer, words
from course_lab.clinic.open_patients import CASES, board, patient, twin, visit
from course_lab.clinic.properties import PROPERTIES, order_counts, properties, sound
from course_lab.clinic.readings import ALLOWED, PIECE, changes

__all__ = [
    "ALLOWED",
    "CASES",
    "FAULTS",
    "PIECE",
    "PROPERTIES",
    "Patient",
    "accepts",
    "board",
    "changes",
    "grade",
    "grade_beside_reference",
    "healthy",
    "layer",
    "order_counts",
    "patient",
    "properties",
    "smallest_starts",
    "sound",
    "twin",
    "unnamed_layers",
    "visit",
    "ward",
    "words",
]
