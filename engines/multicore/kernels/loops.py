"""Generates the source of kernels that call a user's function for each item and emit records.

One call may emit at most `max_outputs` records; the loop makes sure of their room before the call.
Further records count as refused. A parallel array may hold the source item of each record.
Pipelines (`stages`) and dataflow graphs use these kernels: core/stages/kernel.h, core/dataflow/kernel.h.
"""

from collections.abc import Iterable

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

_NOTE_ALL = """\
for j in range(first, count_of(out)):
            store_int32(sources, {at}, {source})"""


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
        opened: lines before the loop; with `source` they must set `sources`.
        item: lines that build item `i`; they may leave the loop.
        body: lines that call the user's function; they may leave the loop.
        max_outputs: maximum number of records of one call.
        source: expression to store in `sources` as the origin of each record; empty stores nothing.
        from_begin: whether `sources` starts at the first record of this kernel call, or of the emitter.
    """
    before = after = "pass"
    base = " - base_count" if from_begin else ""
    if source and max_outputs == 1:
        # Store before the call: if the call emits nothing, the next one overwrites the value.
        before = f"store_int32(sources, first{base}, {source})"
    elif source:
        after = _NOTE_ALL.format(at=f"j{base}", source=source)
    return _LOOP.format(
        name=name,
        opened=opened,
        item=item,
        body=body,
        max_outputs=max_outputs,
        before=before,
        after=after,
    )


def column_pointers(places: Iterable[int], columns: str = "columns", prefix: str = "") -> str:
    """Return lines that set `column_1` etc. to the columns at some places of the table `columns`."""
    lines = (f"    {prefix}column_{i} = pointer_at({columns}, {i})" for i in places)
    return "\n".join(lines)
