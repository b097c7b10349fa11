"""Let one make at a time work on .venv; the others wait, and say for which command.

The operating system locks a file, and releases it when the process ends in whatever way. A disk
without locks goes without. uv's lock cannot do this: it starts after .venv was made, and pip and uv
both install into .venv.

As in tools/environment.py: no syntax newer than Python 3.6.
"""

import os
import sys
import time
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

NOTE = Path(__file__).resolve().parent.parent / ".venv.lock"  # which make is at work


@contextmanager
def alone(command: str):
    """Wait for other makes to end, then keep them out; they print `command` while they wait."""
    with open(__file__, "rb") as file:
        file.seek(1 << 30)  # locked bytes cannot be read on Windows: lock one past the end
        if not take(file):
            print("Another make is at work on .venv" + at_work(), "Waiting for it ...", flush=True)
            while not take(file):
                time.sleep(0.5)
        note = "{} (process {}, since {})".format(command, os.getpid(), time.strftime("%H:%M:%S"))
        with suppress(OSError):  # a read-only checkout, whose .venv may be complete
            NOTE.write_text(note, encoding="utf-8")
        try:
            yield
        finally:
            with suppress(OSError):
                NOTE.unlink()


def take(file: BufferedReader) -> bool:
    """Try to take the lock; return False if another process has it."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # a disk without locks
        pass
    return True


def at_work() -> str:
    """Which make is at work, for one that waits."""
    try:
        return ": " + NOTE.read_text(encoding="utf-8") + "."
    except OSError:  # it has just begun
        return "."
