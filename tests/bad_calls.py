"""A table of calls with bad arguments, as one parametrised test."""

import re

import pytest


def bad_calls(table):
    """A test of each row: a call, the error, the argument that its message names, what it shows."""
    cases = [
        pytest.param(call, error, argument, shown, id=f"{argument}: {shown[-1]}")
        for call, error, argument, *shown in table
    ]

    @pytest.mark.parametrize(("call", "error", "argument", "shown"), cases)
    def test(call, error, argument, shown):
        with pytest.raises(error) as caught:
            call()
        message = str(caught.value)
        assert caught.type is error, f"a {caught.type.__name__} comes from deeper down: {message}"
        assert re.search(rf"(?<!\w){re.escape(argument)}(?!\w)", message)
        for part in shown:
            assert part in message

    return test
