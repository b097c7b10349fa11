"""The controls of an explorer: sliders, lists of choices, boxes to tick, lines of text."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from course_utils import validation

VALUES_PER_DECADE = 20  # of a logarithmic slider


@dataclass(frozen=True)
class Slider:
    """A control for a number from ``low`` to ``high``, in steps.

    Where all four numbers are integers the slider takes integers only. ``ratio`` makes the slider
    logarithmic: instead of steps it has 20 values in a factor of ten, rounded to two digits.
    """

    low: float
    high: float
    start: float
    step: float = 1
    ratio: bool = False
    label: str = ""

    @property
    def whole(self) -> bool:
        """Whether the slider takes integers only."""
        numbers = (self.low, self.high, self.start, self.step)
        return not self.ratio and all(isinstance(number, int) for number in numbers)

    def values(self) -> list[float]:
        """Return the values that the slider can be moved to, in ascending order."""
        if self.ratio:
            return self._logarithmic_values()
        count = math.floor((self.high - self.low) / self.step + 1e-9)
        return [round(self.low + n * self.step, 10) for n in range(count + 1)]

    def _logarithmic_values(self) -> list[float]:
        first = math.ceil(VALUES_PER_DECADE * math.log10(self.low) - 1e-9)
        last = math.floor(VALUES_PER_DECADE * math.log10(self.high) + 1e-9)
        exponents = [n / VALUES_PER_DECADE for n in range(first, last + 1)]
        rounded = {float(f"{10**exponent:.2g}") for exponent in exponents}
        inside = {value for value in rounded if self.low < value < self.high}
        return sorted({self.low, *inside, self.high})

    def checked(self, name: str, value: Any) -> float:
        """Return the value; raise TypeError or ValueError if the slider cannot have it."""
        if self.whole:
            validation.integer(name, value, minimum=int(self.low))
        if not self.low <= validation.number(name, value) <= self.high:
            raise ValueError(f"{name} must be from {self.low:,} to {self.high:,}, got {value}")
        return value


@dataclass(frozen=True)
class Choice:
    """A control for one of several texts; it starts at the first.

    ``words`` are what readers see of those options that have other words.
    """

    options: tuple[str, ...]
    label: str = ""
    words: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def start(self) -> str:
        """The first option."""
        return self.options[0]

    def checked(self, name: str, value: Any) -> str:
        """Return the value; raise ValueError if it is not an option."""
        return validation.choice(name, value, self.options)


@dataclass(frozen=True)
class Tick:
    """A box to tick."""

    start: bool = False
    label: str = ""

    def checked(self, name: str, value: Any) -> bool:
        """Return the value; raise TypeError if it is not a bool."""
        return validation.boolean(name, value)


@dataclass(frozen=True)
class Text:
    """A line of text to type, of at most ``longest`` characters."""

    start: str
    longest: int
    label: str = ""

    def checked(self, name: str, value: Any) -> str:
        """Return the value; raise TypeError or ValueError if it is no text or too long."""
        validation.instance(name, value, str, "text")
        if len(value) > self.longest:
            raise ValueError(
                f"{name} must have at most {self.longest} characters, got {len(value)}"
            )
        return value


Control = Slider | Choice | Tick | Text
