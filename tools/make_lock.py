"""Let one make at a time work on .venv; the others wait.

The operating system locks a file, and releases it when the process ends in whatever way. A disk
without locks goes without. uv's lock cannot do this: it starts after .venv was made, and pip and uv
both install into .venv.

As in tools/environment.py: no syntax newer than Python 3.6.
"""

import sys
import time
from contextlib import contextmanager
from io import BufferedReader

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


@contextmanager
def alone():
    """Wait for other makes to end, then keep them out."""
    with open(__file__, "rb") as file:
        file.seek(1 << 30)  # locked bytes cannot be read on Windows: lock one past the end
        if not take(file):
            print("Another make is at work on .venv. Waiting for it ...", flush=True)
            while not take(file):
                time.sleep(0.5)
        yield


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
