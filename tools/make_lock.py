"""Let one make at a time work on .venv; the others wait, and say for which command.

The operating system locks a file, and releases it when the process ends in whatever way. Network
disks without locks use a note instead: it is valid as long as the process that wrote it runs. uv's
lock cannot do this: it starts after .venv was made, and pip and uv both install into .venv.

As in tools/environment.py: no syntax newer than Python 3.6.
"""

import json
import os
import socket
import sys
import time
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

NOTE = Path(__file__).resolve().parent.parent / ".venv.lock"
HOST = socket.gethostname()
WRITING_SECONDS = 10  # for which an empty note may be one that is being written


@contextmanager
def alone(command: str):
    """Wait for other makes to end, then keep them out; they print `command` while they wait."""
    with open(__file__, "rb") as file:
        file.seek(1 << 30)  # locked bytes cannot be read on Windows: lock one past the end
        if not take(file, command):
            print("Another make is at work on .venv" + details(), "Waiting for it ...", flush=True)
            while not take(file, command):
                time.sleep(0.5)
        try:
            yield
        finally:
            if read_note().get("process") == os.getpid():
                remove_note()


def take(file: BufferedReader, command: str) -> bool:
    """Try to take the lock; return whether this process has it."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # a disk without locks
        if at_work():
            return False
        remove_note()
        return write_note(command)  # False if another make was faster
    remove_note()  # of a make that was killed
    write_note(command)
    return True


def write_note(command: str) -> bool:
    """Note which command is at work; return False if another make was faster."""
    note = dict(command=command, process=os.getpid(), host=HOST, since=time.strftime("%H:%M:%S"))
    try:
        with open(str(NOTE), "x", encoding="utf-8") as file:
            json.dump(note, file)
    except FileExistsError:
        return False
    except OSError:
        pass  # a read-only checkout, whose .venv may be complete
    return True


def read_note() -> dict:
    """The note of the make at work; empty where there is none."""
    try:
        return json.loads(NOTE.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def remove_note() -> None:
    with suppress(OSError):  # there is none
        NOTE.unlink()


def at_work() -> bool:
    """Whether the process that wrote the note still runs, as far as this process can tell."""
    note = read_note()
    if not note:
        try:
            return time.time() - NOTE.stat().st_mtime < WRITING_SECONDS
        except OSError:
            return False  # there is none
    if note["host"] != HOST or os.name != "posix":  # Windows' kill would end it
        return True
    try:
        os.kill(note["process"], 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # another user's
    return True


def details() -> str:
    """The note as text, for a make that waits."""
    note = read_note()
    if not note:
        return "."
    if note["host"] == HOST:
        return ": {command} (process {process}, since {since}).".format(**note)
    text = ": {command} (process {process} on {host}, since {since}).".format(**note)
    return text + " If nothing runs there, remove .venv.lock."
