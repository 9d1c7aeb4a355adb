"""Stores compiled kernels on disk with a checksum; a damaged file is compiled again.

    <cache>/__pycache__/<key of the source>.<key of signature and processor>.kernel
        32 bytes   SHA-256 of the rest
        the rest   vector width in bits or None, and Numba's compile result, pickled

Numba's own cache unpickles and runs any content. A damaged file raises at best, and runs wrong code at worst.
The cache stores the vector width on request, because Numba does not show the code of a loaded kernel.
Finding the width generates the machine code again, which takes a tenth of the compile time.
"""

import hashlib
import os
import pickle
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core import sigutils
from numba.core.caching import FunctionCache
from numba.core.ccallback import CFunc
from numba.core.serialize import dumps

_DIGEST_BYTES = hashlib.sha256().digest_size

_REGISTERS = (("%zmm", 512), ("%ymm", 256), ("%xmm", 128))
"""Vector registers of x86-64 and their widths in bits, widest first."""
_WIDTH_ATTRIBUTE = "_lab_vector_bits"
"""Attribute of a loaded kernel's code library that stores its vector width."""


def sealed_cfunc(
    signature: Any, *, keep: bool, width: bool, **options: Any
) -> Callable[[Callable[..., Any]], CFunc]:
    """Return a decorator like `numba.cfunc`.

    With `keep`, this module's cache stores the kernel; with `width`, the cache also stores the vector width.
    """
    parsed = sigutils.normalize_signature(signature)  # type: ignore[no-untyped-call]  # Numba's gap

    def decorate(function: Callable[..., Any]) -> CFunc:
        kernel = _SealedCFunc(function, parsed, locals={}, options=options)
        if keep:
            # Numba raises if it finds no writable cache folder. Each process then compiles.
            with suppress(RuntimeError):
                kernel._cache = SealedCache(function, width=width)
        kernel.compile()
        return kernel

    return decorate


class _SealedCFunc(CFunc):
    _cache: Any

    def _compile_uncached(self) -> Any:
        # A function that raises needs its environment, to build the exception's arguments. Numba
        # sets the environment when it generates the function's machine code, or loads it from a
        # cache. Inlined functions have no machine code, so this sets their environments.
        result: Any = super()._compile_uncached()  # type: ignore[misc]  # Numba's gap
        result.library._ensure_finalized()  # Before this, no function has an address.
        for environment in result._find_referenced_environments():
            result.library.codegen.set_env(environment.env_name, environment)
        return result


class SealedCache(FunctionCache):
    """Uses Numba's cache folders and keys, with files of its own format."""

    def __init__(self, function: Callable[..., Any], *, width: bool) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]  # Numba's gap
        self._keeps_width = width

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
            return None  # A process stored the kernel without the width.
        data = self._impl.rebuild(target_context, reduced)
        if bits is not None:
            setattr(data.library, _WIDTH_ATTRIBUTE, bits)
        return data

    def _save_overload(self, sig: Any, data: Any) -> None:
        if not self._impl.check_cachable(data):
            return
        bits = None
        if self._keeps_width:
            bits = _vector_bits_of(data.library)
            setattr(data.library, _WIDTH_ATTRIBUTE, bits)
        kernel = dumps((bits, self._impl.reduce(data)))  # type: ignore[no-untyped-call]  # Numba's gap
        path = self._path(sig, data.codegen)
        with suppress(OSError):  # A full disk only costs compile time.
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


def vector_bits(kernel: Any) -> int:
    """Return the width in bits of the widest vector registers that a kernel uses.

    Reads the machine code, because the compiler does not always use the widest registers of the processor.
    Returns 0 if the code uses none, and on architectures other than x86-64.
    A kernel from the cache has a width only if `compile_kernel` got `width`.
    """
    return _vector_bits_of(kernel._library)


def _vector_bits_of(library: Any) -> int:
    bits = getattr(library, _WIDTH_ATTRIBUTE, None)
    if bits is not None:
        return int(bits)
    text = library.get_asm_str()
    return next((bits for name, bits in _REGISTERS if name in text), 0)
