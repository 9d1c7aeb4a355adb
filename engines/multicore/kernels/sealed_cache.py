"""Keeps compiled kernels on disk, each with its checksum: what is damaged is compiled again.

    <cache>/__pycache__/<key of the source>.<key of signature and processor>.kernel
        32 bytes   SHA-256 of the rest
        the rest   the width of its vectors in bits or None, and Numba's compile result, pickled

Numba's own cache unpickles and runs whatever is in its files: a damaged one is an exception at best
and other machine code at worst. The width is kept where somebody will ask for it, since Numba does
not show the code of what it loads; to read it makes the machine code once more, which is a tenth of
a compilation.

Processes that want the same kernel at once, such as those of pytest-xdist, compile it once: others
wait for the lock of its source and load what the first has kept.
"""

import fcntl
import hashlib
import os
import pickle
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from numba.core import sigutils
from numba.core.caching import FunctionCache
from numba.core.ccallback import CFunc
from numba.core.serialize import dumps

from streamlab.engines.multicore.kernels.vector_bits import note_vector_bits, vector_bits_of

_DIGEST_BYTES = hashlib.sha256().digest_size

_PATIENCE_S = 60.0
"""How long to wait for another process's compilation. The longest of the suite takes 10 s."""


def sealed_cfunc(
    signature: Any, *, keep: bool, width: bool, **options: Any
) -> Callable[[Callable[..., Any]], CFunc]:
    """Return a decorator as `numba.cfunc`, with the cache of this module where `keep` is set.

    With `width` the cache knows the width of the code's vectors.
    """
    wanted = sigutils.normalize_signature(signature)  # type: ignore[no-untyped-call]  # Numba's gap

    def decorate(function: Callable[..., Any]) -> CFunc:
        made = _SealedCFunc(function, wanted, locals={}, options=options)
        if keep:
            made.enable_caching(width=width)
        made.compile()
        return made

    return decorate


class _SealedCFunc(CFunc):
    def enable_caching(self, *, width: bool = False) -> None:
        # Numba finds no writable cache folder: the function is compiled each time.
        with suppress(RuntimeError):
            self._cache = SealedCache(self.__wrapped__, width=width)

    def compile(self) -> None:
        cache = self._cache
        if not isinstance(cache, SealedCache) or cache.holds(*self._wanted()):
            super().compile()
        else:
            source = Path(self.__wrapped__.__code__.co_filename)
            with _in_turn(source, lambda: cache.holds(*self._wanted())):
                super().compile()

    def _wanted(self) -> tuple[Any, Any]:
        target = self._targetdescr.target_context  # type: ignore[attr-defined]  # Numba's gap
        return self._sig, target  # type: ignore[attr-defined]  # Numba's gap

    def _compile_uncached(self) -> Any:
        # What is raised makes its arguments Python objects with the environment of the function
        # that raises. Numba sets it beside the machine code of that function, of which the kernel's
        # parts have none, and for what is loaded from a cache; so this does as loading does.
        made: Any = super()._compile_uncached()  # type: ignore[misc]  # Numba's gap
        made.library._ensure_finalized()  # no function stands anywhere before
        for environment in made._find_referenced_environments():
            made.library.codegen.set_env(environment.env_name, environment)
        return made


class SealedCache(FunctionCache):
    """Finds a place and makes keys as Numba does; files are this class's own."""

    def __init__(self, function: Callable[..., Any], *, width: bool) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]  # Numba's gap
        self._keeps_width = width

    def holds(self, sig: Any, target_context: Any) -> bool:
        """Whether there is a file for this signature, damaged or not."""
        try:
            return self._path(sig, target_context.codegen()).exists()
        except OSError:  # a folder that may not be read
            return False

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            content = self._path(sig, target_context.codegen()).read_bytes()
        except OSError:
            return None
        seal, kernel = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
        if hashlib.sha256(kernel).digest() != seal:
            return None
        bits, reduced = pickle.loads(kernel)
        if bits is None and self._keeps_width:
            return None  # kept by who did not ask
        data = self._impl.rebuild(target_context, reduced)
        if bits is not None:
            note_vector_bits(data.library, bits)
        return data

    def _save_overload(self, sig: Any, data: Any) -> None:
        if not self._impl.check_cachable(data):
            return
        bits = None
        if self._keeps_width:
            bits = vector_bits_of(data.library)
            note_vector_bits(data.library, bits)
        kernel = dumps((bits, self._impl.reduce(data)))  # type: ignore[no-untyped-call]  # Numba's gap
        path = self._path(sig, data.codegen)
        with suppress(OSError):  # a full disk only costs compile time
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".kernel-")
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(hashlib.sha256(kernel).digest() + kernel)
                Path(name).replace(path)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise

    def _path(self, sig: Any, codegen: Any) -> Path:
        index = self._index_key(sig, codegen)  # type: ignore[no-untyped-call]  # Numba's gap
        key = hashlib.sha256(repr(index).encode()).hexdigest()
        return Path(self.cache_path) / f"{self._impl.filename_base}.{key[:16]}.kernel"


@contextmanager
def _in_turn(source: Path, kept: Callable[[], bool]) -> Iterator[None]:
    """Hold the lock of a source's file, so that others wait for what is compiled meanwhile.

    Without the lock where there is none to be had, where that takes too long, and where another has
    compiled and could not keep it: waiting for each other would be in vain.
    """
    with ExitStack() as held:
        with suppress(OSError):
            file = held.enter_context(source.open("rb"))
            waited = _lock(file)
            held.callback(fcntl.flock, file, fcntl.LOCK_UN)  # a forked child has the file as well
            if waited and not kept():
                held.close()
        yield


def _lock(file: IO[bytes]) -> bool:
    """Take the lock of a file; return whether it had to be waited for, in vain after a while."""
    until = time.monotonic() + _PATIENCE_S
    waited = False
    while time.monotonic() < until:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            waited = True
            time.sleep(0.02)
    return waited
