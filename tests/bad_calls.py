"""A table of calls with bad arguments, as one parametrised test."""

import re

import pytest


def bad_calls(table, subject=None):
    """A test of each row: a call, the error, the argument that its message names, what it shows.

    The shape checks of the tests are off, so that errors are course_utils' own. Where ``subject``
    names a fixture, each call gets its value.
    """
    cases = [
        pytest.param(call, error, argument, shown, id=f"{argument}: {shown[-1]}")
        for call, error, argument, *shown in table
    ]

    @pytest.mark.usefixtures("plain_arguments")
    @pytest.mark.parametrize(("call", "error", "argument", "shown"), cases)
    def test(call, error, argument, shown, request):
        subjects = [request.getfixturevalue(subject)] if subject else []
        with pytest.raises(error) as caught:
            call(*subjects)
        message = str(caught.value)
        assert caught.type is error, f"a {caught.type.__name__} comes from deeper down: {message}"
        assert re.search(rf"(?<!\w){re.escape(argument)}(?!\w)", message)
        for part in shown:
            assert part in message

    return test
