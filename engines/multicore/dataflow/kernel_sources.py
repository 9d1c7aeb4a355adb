"""The loops into which the functions of dataflow operators are compiled; see `kernels`."""

ITEMS = """\
open_out, room, close_out = open_emitter(OUTPUT)

@kernel
def items(call, begin, end, out_address):
    columns = pointer_at(call, 0)
    base = load(call, 1, int64)
    table = pointer_at(call, 2)
    start = pointer_at(call, 3)
    make = pointer_at(call, 4)
    sources = pointer_at(call, 5)
{pointers}
    out = open_out(out_address)
    base_count = count_of(out)
    i = begin
    while i < end and room(out) >= {max_outputs}:
        row = base + i
        key = {key}
        value = {value}
        first = count_of(out)
        {before}
{body}
        {after}
        if count_of(out) - first > {max_outputs}:
            refuse(out, count_of(out) - first - {max_outputs})
        i += 1
    close_out(out, out_address)
    return i + 1
"""

NOTE_SOURCES = """\
for j in range(first, count_of(out)):
            store_int32(sources, j - base_count, i)"""

STATELESS = "        on_item(key, value, out)"

FIND = """\
        entry = find_entry(table, 0, key, mix_key(key), STRIDE)
        if is_null(entry):
            entry = call_make(make, table, key)
            if is_null(entry):
                break
{first}
"""

STATE = "        state = record_at(offset(entry, HEAD), STATE)\n"
AGGREGATE = "        aggregate = record_at(offset(entry, AGGREGATE_AT), AGGREGATE)\n"

ORDERED = FIND + STATE + "        on_item(state, key, value, out)"

UNORDERED = (
    FIND
    + "{state}"
    + AGGREGATE
    + """\
{on_item}
        taken = stack_record(AGGREGATE)
        both = stack_record(AGGREGATE)
{taken}
        combine(aggregate, taken, both)
        copy_record(aggregate, both)"""
)

MARKS = """\
open_out, room, close_out = open_emitter(OUTPUT)

@kernel
def marks(call, begin, end, out_address):
    table = pointer_at(call, 2)
    sources = pointer_at(call, 5)
    entries = pointer_at(table, ENTRIES)
    m = Marker(load(call, 6, int64))
    out = open_out(out_address)
    base_count = count_of(out)
    i = begin
    while i < end and room(out) >= {max_outputs}:
        first = count_of(out)
        {before}
{body}
        {after}
        if count_of(out) - first > {max_outputs}:
            refuse(out, count_of(out) - first - {max_outputs})
        i += 1
    close_out(out, out_address)
    return i + 1
"""

ENTRY = """\
        entry = offset(entries, i * STRIDE)
        key = load(entry, 1, int64)
"""

PASS_BLOCK = """\
        update_state(state, aggregate)
        zero_record(aggregate)
        {identity}
"""

START = """\
@kernel
def start(address, passed):
    state = record_at(address, STATE)
    if passed == 0:
        {first}
    else:
        {passed}
    return 1
"""

EMPTY_BLOCK = """\
nothing = stack_record(AGGREGATE)
        {identity}
        update_state(state, nothing)"""
