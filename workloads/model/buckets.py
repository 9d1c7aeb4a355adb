"""Buckets of keys: what the mapping f_mu gives to instances, whole.

Which bucket a key is in never changes the answer; it decides who does the work.
"""

from workloads.model.operator import Operator

_WORD = (1 << 64) - 1


def hash_key(key: int) -> int:
    """Return a 64-bit hash of a key.

    MurmurHash3's finalizer with Stafford's variant 13 constants, as in splitmix64: a bijection, so
    that keys that differ anywhere differ in every bit with a probability near one half.
    """
    x = key & _WORD
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _WORD
    return x ^ (x >> 31)


def bucket_of(operator: Operator, key: int) -> int:
    """Return the bucket of a key, in [0, `operator.buckets`)."""
    code = hash_key(key) if operator.bucket is None else operator.bucket(key)
    return code % operator.buckets
