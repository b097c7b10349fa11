"""Attention layers with a known fault, for tests that learn to find it, and properties to hold.

``patients`` are the faults, ``wards`` who is held back, ``admission`` who is shown, ``properties``
what an encoding of one's own should keep to. Nothing here is for use in a model.
"""

from course_lab.clinic.admission import CASES, board, patient, twin, visit
from course_lab.clinic.patients import layer, words
from course_lab.clinic.properties import PROPERTIES, properties
from course_lab.clinic.wards import FAULTS, Patient, accepts, grade, ward

__all__ = [
    "CASES",
    "FAULTS",
    "PROPERTIES",
    "Patient",
    "accepts",
    "board",
    "grade",
    "layer",
    "patient",
    "properties",
    "twin",
    "visit",
    "ward",
    "words",
]
