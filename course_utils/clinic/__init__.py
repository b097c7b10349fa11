"""Attention layers with a known fault, for tests that learn to find it, and properties to hold.

``patients`` are the faults, ``wards`` who is examined, ``properties`` what an encoding of one's own
should keep to. Nothing here is for use in a model.
"""

from course_utils.clinic.patients import layer, words
from course_utils.clinic.properties import properties
from course_utils.clinic.wards import FAULTS, Patient, accepts, grade, ward

__all__ = ["FAULTS", "Patient", "accepts", "grade", "layer", "properties", "ward", "words"]
