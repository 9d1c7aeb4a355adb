"""Defines the source templates of dataflow kernels; see `kernels`, and `kernels/loops.py`."""

ITEMS = """\
    columns = pointer_at(call, FLOW_CALL.columns)
    base = load(call, FLOW_CALL.base, int64)
    table = pointer_at(call, FLOW_CALL.table)
    start = pointer_at(call, FLOW_CALL.start)
    make = pointer_at(call, FLOW_CALL.make)
    sources = pointer_at(call, FLOW_CALL.sources)
{pointers}"""

ITEM = """\
        row = base + i
        key = {key}
        value = {value}"""

STATELESS = "        on_item(key, value, out)"

FIND = """\
        entry = find_entry(table, 0, key, mix_key(key), STRIDE)
        if is_null(entry):
            entry = call_pointer(make, (table, key))
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
    table = pointer_at(call, FLOW_CALL.table)
    sources = pointer_at(call, FLOW_CALL.sources)
    entries = pointer_at(table, INDEX.entries)
    m = Marker(load(call, FLOW_CALL.marker, int64))"""

ENTRY = """\
        entry = offset(entries, i * STRIDE)
        key = load(entry, KEY, int64)
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
