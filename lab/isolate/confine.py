"""Runs a command so that it can write only to some folders, and sees hidden folders as empty.

    python -I -S confine.py '{"writable": [...], "hidden": [...]}' COMMAND...
    python -I -S confine.py --probe

The command gets its own mount namespace (mount_namespaces(7)) and System V shared memory.
Everything is read-only except the writable folders and a fresh /dev/shm.
So a trial cannot read files of earlier trials, except in folders that the engine declares.
Without root, the confinement needs a user namespace (user_namespaces(7)), which some systems forbid.

The confinement prevents accidents, not attacks: a program can escape, for instance through /proc.

The process becomes the command (exec).
"""

import ctypes
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 2, 4, 4096, 16384, 1 << 18
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_MOUNT_ATTR_RDONLY = 1
_MOUNT_SETATTR = 442
"""Number of the system call, equal on all architectures; Linux 5.12 and later."""
_SHARED_MEMORY = "/dev/shm"
_LIBC = ctypes.CDLL(None, use_errno=True)


class _Attributes(ctypes.Structure):
    """`struct mount_attr`."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


def confine(writable: Sequence[str], hidden: Sequence[str], *, own_memory: bool = True) -> None:
    """Move this process into a confined mount namespace, as the module describes.

    Missing hidden folders are ignored. Without `own_memory`, files in /dev/shm stay visible and writable.

    Raises:
        OSError: the system forbids confinement, or its kernel is older than Linux 5.12.
    """
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        _check(_LIBC.unshare(_CLONE_NEWNS | _CLONE_NEWIPC), "unshare")
    else:
        _check(_LIBC.unshare(_CLONE_NEWNS | _CLONE_NEWIPC | _CLONE_NEWUSER), "unshare")
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            Path("/proc/self", name).write_text(text, encoding="ascii")
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    shared_folders = [_SHARED_MEMORY] if Path(_SHARED_MEMORY).is_dir() else []
    for folder in shared_folders:
        if own_memory:
            _mount("tmpfs", folder, "tmpfs", _MS_NOSUID | _MS_NODEV)
        else:
            _mount(folder, folder, None, _MS_BIND | _MS_REC)
    for folder in writable:
        _mount(folder, folder, None, _MS_BIND | _MS_REC)
    for folder in hidden:
        if Path(folder).is_dir():
            _mount("tmpfs", folder, "tmpfs", _MS_RDONLY | _MS_NOSUID | _MS_NODEV)
    _set_read_only("/", True)
    for folder in (*writable, *shared_folders):
        _set_read_only(folder, False)
    with suppress(OSError):  # if the current folder is hidden now, this process stays in it
        os.chdir(Path.cwd())  # enter the new mount at the same path


def _mount(source: str | None, target: str, kind: str | None, flags: int) -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    _check(_LIBC.mount(*words, ctypes.c_ulong(flags), None), f"mount {target}")


def _set_read_only(folder: str, is_read_only: bool) -> None:
    attributes = _Attributes(**{"set" if is_read_only else "clear": _MOUNT_ATTR_RDONLY})
    _check(
        _LIBC.syscall(
            ctypes.c_long(_MOUNT_SETATTR),
            ctypes.c_int(_AT_FDCWD),
            os.fsencode(folder),
            ctypes.c_uint(_AT_RECURSIVE),
            ctypes.byref(attributes),
            ctypes.c_size_t(ctypes.sizeof(attributes)),
        ),
        f"mount_setattr {folder}",
    )


def _check(result: int, call: str) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{call}: {os.strerror(error)}")


def main(arguments: Sequence[str]) -> None:
    """Confine this process and become the command; with `--probe`, print why confinement is impossible."""
    if arguments == ["--probe"]:
        try:
            confine([], [])
        except OSError as error:
            print(error.strerror)
        return
    places, *command = arguments
    confine(**json.loads(places))
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
