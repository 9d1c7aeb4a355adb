"""Holds the source templates of dataflow kernels; see `kernels`, and `kernels/loops.py`."""

ITEMS = """\
    columns = pointer_at(call, 0)
    base = load(call, 1, int64)
    table = pointer_at(call, 2)
    start = pointer_at(call, 3)
    make = pointer_at(call, 4)
    sources = pointer_at(call, 5)
{pointers}"""

ITEM = """\
        row = base + i
        key = {key}
        value = {value}"""

STATELESS = "        on_item(key, value, out)"

FIND = """\
        entry = find_entry(table, 0, key, mix_key(key), STRIDE)
        if is_null(entry):
            entry = call_with_key(make, table, key)
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
    table = pointer_at(call, 2)
    sources = pointer_at(call, 5)
    entries = pointer_at(table, ENTRIES)
    m = Marker(load(call, 6, int64))"""

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
