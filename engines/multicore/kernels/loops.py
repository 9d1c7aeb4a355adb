"""Generates the source of kernels that call a user's function for each item and emit records.

One call may emit at most `max_outputs` records; the loop checks before each call that they fit.
Further records count as refused. A parallel array `sources` may store the source item of each record.
Pipelines (`stages`) and dataflow graphs use these kernels: core/stages/kernel.h, core/dataflow/kernel.h.
The kernels of `dgs` and `oplus` also use `column_pointers`.
"""

from collections.abc import Iterable

# Returns the position plus one, because compiled code that raises returns 0 (core/stages/kernel.h).
_LOOP = """\
@kernel
def {name}(call, begin, end, out_address):
{opened}
    out = open_emitter(out_address, OUTPUT)
    base_count = count_of(out)
    i = begin
    while i < end and room(out) >= {max_outputs}:
{item}
        first = count_of(out)
        {before}
{body}
        {after}
        if count_of(out) - first > {max_outputs}:
            refuse(out, count_of(out) - first - {max_outputs})
        i += 1
    close_emitter(out, out_address)
    return i + 1
"""

_STORE_SOURCES = """\
for j in range(first, count_of(out)):
            store_int32(sources, {position}, {source})"""


def loop(
    name: str,
    *,
    opened: str,
    item: str = "",
    body: str,
    max_outputs: int,
    source: str = "",
    from_begin: bool = False,
) -> str:
    """Return the source of a kernel `name(call, begin, end, out_address)`.

    Args:
        name: name of the kernel function.
        opened: lines before the loop; they must define `sources` if `source` is set.
        item: lines that build item `i`; they may leave the loop.
        body: lines that call the user's function; they may leave the loop.
        max_outputs: maximum number of records of one call of the user's function.
        source: expression to store in `sources` as the origin of each record; empty to store nothing.
        from_begin: True if `sources` starts at this call's first record; False if at the emitter's first.
    """
    before = after = "pass"
    base = " - base_count" if from_begin else ""
    if source and max_outputs == 1:
        # Store before the call. If the call emits nothing, the next call overwrites the value.
        before = f"store_int32(sources, first{base}, {source})"
    elif source:
        after = _STORE_SOURCES.format(position=f"j{base}", source=source)
    return _LOOP.format(
        name=name,
        opened=opened,
        item=item,
        body=body,
        max_outputs=max_outputs,
        before=before,
        after=after,
    )


def column_pointers(indices: Iterable[int], columns: str = "columns", prefix: str = "") -> str:
    """Return lines that set `column_I` to entry I of the pointer table `columns`, for each of `indices`."""
    lines = (f"    {prefix}column_{i} = pointer_at({columns}, {i})" for i in indices)
    return "\n".join(lines)
