"""The tables ``lengths`` and ``needles`` of ``published_model`` once more, over source code.

    python -m course_experiments.code_runs results/code

writes real_needles_code.csv and real_lengths_code.csv there: the first 12,288 tokens of files of
this Python's standard library, read in some of the ways. It takes half an hour on one core. Stop
it whenever you like: the same command goes on.
"""

import itertools
import sys
import sysconfig
from pathlib import Path

import pandas as pd

from course_experiments import __main__ as command
from course_experiments.published_changes import CUT

LIBRARY = Path(sysconfig.get_path("stdlib"))
TEXTS = ("argparse.py", "tarfile.py", "typing.py")
READ = 12_288  # tokens
WAYS = {"needles": ["YaRN", CUT], "lengths": ["direct", CUT, "YaRN"]}  # of each table


def main(folder: Path) -> int:
    """Run the sweeps; returns the exit status of the first that fails, else 0."""
    tables: dict[str, list[pd.DataFrame]] = {"lengths": [], "needles": []}
    for text, (name, ways) in itertools.product(TEXTS, WAYS.items()):
        words = ["real", "--tables", name, "--corpus", str(LIBRARY / text), "--ways", *ways]
        words += ["--seeds", "0", "--lengths", str(READ), "--jobs", "1"]
        runs = folder / "runs" / text
        if status := command.main([*words, "--folder", str(runs)]):
            return status
        table = pd.read_csv(runs / f"real_{name}.csv").query("way in @ways")
        table.insert(1, "text", text)
        tables[name].append(table)
        pd.concat(tables[name]).to_csv(folder / f"real_{name}_code.csv", index=False)
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
