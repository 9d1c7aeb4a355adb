"""Runs a command that may write to its own folders only, and cannot see certain others.

    python -I -S confine.py '{"writable": [...], "hidden": [...]}' COMMAND...
    python -I -S confine.py --probe

The command gets a mount namespace of its own (mount_namespaces(7)). There, everything is read-only
but the writable folders and a fresh /dev/shm, hidden folders are empty, and System V shared memory
is its own. So nothing that one trial writes can be read by the next, but in the folders that an
engine declares. Without root it takes a user namespace (user_namespaces(7)), which some systems
forbid.

This keeps honest programs honest. A program that wants to can leave it, for instance through /proc.

It starts with every trial, and becomes the command.
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
"""Number of the system call on every architecture; Linux 5.12 and later."""
_SHARED_MEMORY = "/dev/shm"
_LIBC = ctypes.CDLL(None, use_errno=True)


class _Attributes(ctypes.Structure):
    """`struct mount_attr`."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


def confine(writable: Sequence[str], hidden: Sequence[str], *, own_memory: bool = True) -> None:
    """Give this process a mount namespace as this module describes.

    Args:
        writable: folders that it may write to.
        hidden: folders that are empty to it; those that do not exist are left out.
        own_memory: give it a fresh /dev/shm; False where files that it needs lie there, which then
            can be written as before.

    Raises:
        OSError: the system forbids it, or its kernel is older than Linux 5.12.
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
    shared = [_SHARED_MEMORY] if Path(_SHARED_MEMORY).is_dir() else []
    for folder in shared:
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
    for folder in (*writable, *shared):
        _set_read_only(folder, False)
    with suppress(OSError):  # a folder that is hidden now stays the current one
        os.chdir(Path.cwd())  # it may lie below what has been mounted since


def _mount(source: str | None, target: str, kind: str | None, flags: int) -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    _check(_LIBC.mount(*words, ctypes.c_ulong(flags), None), f"mount {target}")


def _set_read_only(folder: str, on: bool) -> None:
    one = _Attributes(**{"set" if on else "clear": _MOUNT_ATTR_RDONLY})
    _check(
        _LIBC.syscall(
            ctypes.c_long(_MOUNT_SETATTR),
            ctypes.c_int(_AT_FDCWD),
            os.fsencode(folder),
            ctypes.c_uint(_AT_RECURSIVE),
            ctypes.byref(one),
            ctypes.c_size_t(ctypes.sizeof(one)),
        ),
        f"mount_setattr {folder}",
    )


def _check(result: int, call: str) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{call}: {os.strerror(error)}")


def main(arguments: Sequence[str]) -> None:
    """Confine this process and become the command; or try only."""
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
