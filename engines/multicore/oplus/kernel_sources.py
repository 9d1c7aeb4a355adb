"""Defines the source templates of an operator O+'s kernels, which `kernels` fills.

Each template with `@kernel` is one function of core/oplus/kernel.h; the other templates are parts of these.
Counters start with `int64(0)`. A plain 0 has a literal type, and Numba repeats type inference when a loop widens it.
"""

# The kernel makes three passes over the tuples: it finds all keys, prefetches their cache lines, and updates windows.
# The last pass visits only tuples with keys of this instance, because a check in this pass would be an unpredictable
# branch. Single keys (the only keys of their tuples) are first found by stream, in a loop over adjacent rows that LLVM
# turns into vectors. They are prefetched in this order only if all of them belong to this instance, because an instance
# may not read another instance's tables.
PROCESS = """\
@kernel
def process(view, begin, end, out_address):
    keys_address = pointer_at(view, VIEW.keys)
    stamp = load(view, VIEW.stamp, int64)
    instance = pointer_at(view, VIEW.instance)
    find = pointer_at(view, VIEW.find)
    streams = pointer_at(view, VIEW.streams)
    rows = pointer_at(view, VIEW.rows)
    sources = pointer_at(view, VIEW.sources)
    keyed_places = pointer_at(view, VIEW.keyed_places)
    tables = pointer_at(view, VIEW.tables)
    shifts = pointer_at(view, VIEW.shifts)
    row_keys = pointer_at(pointer_at(view, VIEW.row_keys), KEY_SET.columns)
{open_stored}
    single_keys = load(view, VIEW.single_keys, int64) != 0
    key_count = int64(0)
    if single_keys:
        firsts = pointer_at(view, VIEW.firsts)
        counts = pointer_at(view, VIEW.counts)
        single_key = open_single_key(row_keys, SINGLE_KEY)
        others = int64(0)
        for source in range(load(view, VIEW.streams_end, int64)):
            row_count = load(counts, source, int64)
            if row_count > 0:
                columns = pointer_at(streams, source)
{stream_pointers}
                first = load(firsts, source, int64)
                shift = key_count - first
                store_word(shifts, source, shift)
                for row in range(first, first + row_count):
                    expect_key(single_key, row + shift)
                    user_keys({tuple}, single_key)
                    others |= count_keys(single_key) ^ 1
                key_count += row_count
        if others != 0:
            single_keys = False
            store_word(view, VIEW.single_keys, 0)
    direct = single_keys and load(view, VIEW.routed, int64) != 0
    if direct:
        keys_address = pointer_at(view, VIEW.row_keys)
    keys = open_keys(keys_address, KEYS)
    scan_end = begin
    tuples = int64(0)
    if direct:
        store_word(keyed_places, 0, begin)
        store_word(keyed_places, 1, 1)
        scan_end = end
    before = int64(0)
    while scan_end < end:
        source = int64(load(sources, scan_end, uint8))
        row = load(rows, scan_end, int64)
        if single_keys:
            append_key(keys, row_keys, row + load(shifts, source, int64))
        else:
            columns = pointer_at(streams, source)
{scan_pointers}
            user_keys({tuple}, keys)
            if refused_keys(keys) > 0:
                break
        store_word(keyed_places, 2 * tuples, scan_end)
        store_word(keyed_places, 2 * tuples + 1, count_keys(keys))
        tuples += int64(count_keys(keys) > before)
        before = count_keys(keys)
        scan_end += 1
    if load(view, VIEW.prefetch, int64) != 0:
        in_order = not direct or key_count == end - begin
        key_count = end - begin if direct else before
        for n in range(key_count):
            k = n if in_order else row_key(rows, sources, shifts, begin + n)
            prefetch_slot(tables, bucket_at(keys, k), hash_at(keys, k))
        for n in range(key_count):
            k = n if in_order else row_key(rows, sources, shifts, begin + n)
            prefetch_windows(tables, bucket_at(keys, k), hash_at(keys, k), STRIDE)
    out = open_emitter(out_address, OUTPUT)
    left = load(view, VIEW.left, int64)
    last = left  # begin of the tuple's latest window
    new_entries = int64(0)
    k = int64(0)
    p = int64(0)
    i = begin
    while direct and i < end:
        source = int64(load(sources, i, uint8))
        columns = pointer_at(streams, source)
        row = load(rows, i, int64)
{pointers}
        t = {tuple}
        k = row + load(shifts, source, int64)
        keys_end = k + 1
{in_windows}
        i += 1
    while not direct and p < tuples:
        i = load(keyed_places, 2 * p, int64)
        columns = pointer_at(streams, int64(load(sources, i, uint8)))
        row = load(rows, i, int64)
{pointers}
        t = {tuple}
        keys_end = load(keyed_places, 2 * p + 1, int64)
{in_windows}
        k = keys_end
        p += 1
    close_emitter(out, out_address)
    close_keys(keys, keys_address)
    store_word(view, VIEW.new_entries, new_entries)
    if direct:
        scan_end = i
    elif p < tuples:
        scan_end = load(keyed_places, 2 * p, int64)
{close_stored}
    return scan_end + 1
"""

# Updates the windows of tuple t at place i, with keys [k, keys_end). The tuple's earliest window begins at `first`.
UPDATE = """\
        for j in range(k, keys_end):
            windows_at, new, fresh = find_or_make(
                tables,
                bucket_at(keys, j),
                key_at(keys, j),
                hash_at(keys, j),
                stamp + i - begin,
                single_keys,
                STRIDE,
            )
            if is_null(windows_at):
                arguments = (instance, key_at(keys, j), bucket_at(keys, j), first, stamp + i - begin)
                windows_at = call_pointer(find, arguments)
                fresh = not is_null(windows_at)
            else:
                windows_at = offset(windows_at, HEAD)
                if new:
                    new_entries += 1
                    make_windows(windows_at, key_at(keys, j), {unused}, {places}, WINDOW_BYTES)
            if {due}:
{updates}
{after_keys}
"""

# Used for operators that store tuples. The core makes room for one tuple in each deque before the update.
OPEN_STORED = """\
    reserve = pointer_at(view, VIEW.reserve)
    compared = int64(0)
    lacking = int64(0)
"""

CLOSE_STORED = """\
    store_word(view, VIEW.compared, compared)
    store_word(view, VIEW.output_demand, lacking)
"""

AT_STORED = """\
                if not ({rooms}) and is_null(call_pointer(reserve, (instance, {at}))):
                    break
"""

# An update of a join may emit a record for each stored tuple of the other input. Without room for all these records
# the kernel stops, and a later call repeats the tuple. Stamps mark finished keys, so the kernel removes the stamp of
# the unfinished key.
CHECK_JOIN_ROOM = """\
                needed_rows = len(deque_at(offset(windows_at, {other}), DEQUE)) * {max_outputs}
                if room(out) < needed_rows:
                    store_word(offset(windows_at, -HEAD), STAMP, NO_STAMP)
                    lacking = needed_rows
                    break
"""

COUNT_COMPARED = """\
                compared += len(deque_at(offset(windows_at, {other}), DEQUE))
"""

STOP_WITHOUT_ROOM = """\
        if lacking > 0:
            break
"""

UPDATE_ONE = """\
{check_room}
{at_stored}
                set_stamp(out, {time})
{at_touch}
                user({windows}, t, out)
{after_update}
"""

# Used for single windows that expire without a trace. Each key's window begins where the key's last tuple moved it.
FIRST_LAZY = "(floor(t.ts - SIZE, ADVANCE) + 1) * ADVANCE"

# The core passes the begin of the earliest window, and its slot in the tables.
ADVANCE_LAST = """\
        if t.ts >= last + ADVANCE:
            last = floor(t.ts, ADVANCE) * ADVANCE
"""

UPDATE_OVERLAPPING = """\
                slot = load(view, VIEW.slot, int64)
                window = left
                while window <= last:
                    at = offset(windows_at, slot * ({inputs} * WINDOW_BYTES))
                    if load(at, LEFT, int64) != window:
                        free_windows(at, window, {inputs}, WINDOW_BYTES)
{at_stored}
                    set_stamp(out, window + SIZE)
                    user({windows}, t, out)
                    window += ADVANCE
                    slot += 1
                    if slot == {slots}:
                        slot = 0
"""

ROUTE = """\
@kernel
def route(owner, first, columns, begin, end, masks):
{pointers}
    owners = open_owners(owner, first, OWNERS)
    for i in range(begin, end):
        clear_owners(owners)
        user_keys({tuple}, owners)
        store_word(masks, i - begin, owners_mask(owners))
    return end + 1
"""

MAP = """\
@kernel
def map_(keys_address, columns, rows, count, ends):
{pointers}
    keys = open_keys(keys_address, KEYS)
    i = int64(0)
    while i < count:
        row = load(rows, i, int64)
        user_keys({tuple}, keys)
        if refused_keys(keys) > 0:
            break
        store_word(ends, i, count_keys(keys))
        i += 1
    close_keys(keys, keys_address)
    return i + 1
"""

EXPIRE = """\
@kernel
def expire(entries, begin, end, left, out_address):
    out = open_emitter(out_address, OUTPUT)
    set_stamp(out, left + {size})
    i = begin
    while i < end and room(out) >= {max_outputs}:
        at = offset(entries, i * {stride} + {head})
        w = {windows}
        if w[0].left == left:
{calls}
            pass
        i += 1
    close_emitter(out, out_address)
    return i + 1
"""

# Four probes at a time share the loads of the stored tuples. A vector loop over masks tests whether any pair
# matches.
MATCH = """\
@kernel
def match(probes, begin, end, others, first, last, pairs, capacity):
{probe_pointers}
{stored_pointers}
    pair_count = int64(0)
    i = begin
    while i < end:
        width = min(4, end - i)
        hit = False
        if width == 4:
            p0 = {probe_0}
            p1 = {probe_1}
            p2 = {probe_2}
            p3 = {probe_3}
            for j in range(first, last):
                s = {stored}
                hit |= bool({call_0}) | bool({call_1}) | bool({call_2}) | bool({call_3})
        else:
            hit = True
        if hit:
            for k in range(i, i + width):
                p = {probe}
                some = False
                for j in range(first, last):
                    s = {stored}
                    some |= bool({call})
                if some:
                    for j in range(first, last):
                        s = {stored}
                        if {call}:
                            if pair_count < capacity:
                                store_word(pairs, 2 * pair_count, {left})
                                store_word(pairs, 2 * pair_count + 1, {right})
                            pair_count += 1
        i += width
    return pair_count + 1
"""

PAIRS = """\
@kernel
def emit_pairs(lefts, rights, pairs, times, begin, end, out_address):
{left_pointers}
{right_pointers}
    out = open_emitter(out_address, OUTPUT)
    k = begin
    while k < end and room(out) >= {max_outputs}:
        i = load(pairs, 2 * k, int64)
        j = load(pairs, 2 * k + 1, int64)
        set_stamp(out, load(times, k, int64))
        user({left}, {right}, out)
        k += 1
    close_emitter(out, out_address)
    return k + 1
"""
