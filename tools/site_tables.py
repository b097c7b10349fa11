"""Tables and lists that a reader filters and sorts: HTML, which ``filters.js`` brings to life.

Without JavaScript all rows stand there, and no controls.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from site_html import escaped, opening, tag


@dataclass(frozen=True)
class Cell:
    """What a cell shows, as HTML, and the number by which its column is sorted."""

    html: str
    sort: float | None = None


@dataclass(frozen=True)
class Row:
    """A row: its cells, its name for links, and its values for the filters."""

    cells: Sequence[Cell]
    id: str
    values: Mapping[str, str] = field(default_factory=dict)


def table(name: str, head: Sequence[str], rows: Iterable[Row]) -> str:
    """A table; the first cell of each row heads it."""
    heads = "".join(tag("th", escaped(title), scope="col") for title in head)
    body = "".join(_row(row) for row in rows)
    inside = tag("thead", tag("tr", heads)) + tag("tbody", body)
    whole = tag("table", inside, class_="docutils om-sortable", id=name)
    return tag("div", whole, class_="table-wrapper om-table")


def filters(
    name: str,
    choices: Mapping[str, Sequence[str]],
    labels: Mapping[str, str] | None = None,
    start: Mapping[str, str] | None = None,
    words: str = "",
    buttons: str = "",
) -> str:
    """Controls for what has ``name``: a list to choose from for each value, and words to search.

    Args:
        name: the id of a table, or of what contains a list.
        choices: value → what it may be; a reader may also take all.
        labels: what to call a value, where that is not its name.
        start: what is chosen first, where that is not all.
        words: what the field for words is called; "" for none.
        buttons: HTML after the controls.
    """
    controls = [
        tag(
            "label",
            f"{escaped((labels or {}).get(value, value))} "
            + tag("select", _options(options, (start or {}).get(value)), name=value),
        )
        for value, options in choices.items()
    ]
    if words:
        controls.append(tag("label", f"{escaped(words)} " + opening("input", type="search")))
    controls.append('<button type="button" class="om-all">Show all</button>')
    count = tag("p", "", class_="om-count", role="status")
    return tag("form", "".join(controls) + buttons + count, class_="om-filter", data_rows=name)


def _options(options: Sequence[str], start: str | None) -> str:
    texts = {"": "all"} | {option: option for option in options}  # value → what is shown
    return "".join(
        tag("option", escaped(text), value=value, selected="" if value == start else None)
        for value, text in texts.items()
    )


def _row(row: Row) -> str:
    cells = [
        tag(
            "td" if number else "th",
            cell.html,
            scope=None if number else "row",
            data_sort=None if cell.sort is None else str(cell.sort).replace("inf", "Infinity"),
        )
        for number, cell in enumerate(row.cells)
    ]
    values = {f"data_{key}": value for key, value in row.values.items()}
    return tag("tr", "".join(cells), id=row.id, class_="om-row", **values)
