"""The course's long experiments: many small models trained alike, their results as tables.

``python -m course_experiments --help`` runs them. The lessons read the tables from ``data``,
with ``course_utils.results``.
"""
