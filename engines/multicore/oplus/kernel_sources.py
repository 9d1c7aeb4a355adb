"""What the kernels of an operator O+ are written in: templates that `kernels` fills.

Each is the source of one function of core/oplus/kernel.h.
"""

PROCESS = """\
open_out, room, close_out = open_emitter(OUTPUT)
open_keys, clear_keys, close_keys = open_key_set(KEYS)

@kernel
def process(view, columns, begin, end, out_address):
{pointers}
    keys_address = pointer_at(view, 0)
    keys = open_keys(keys_address)
    out = open_out(out_address)
    expire_at = load(view, 1, int64)
    stamp = load(view, 2, int64)
    instance = pointer_at(view, 3)
    find = pointer_at(view, 4)
    i = begin
    while i < end:
        ts = load(ts_column, i, int64)
        if ts >= expire_at:
            break
        t = {tuple}
        clear_keys(keys)
        user_keys(t, keys)
        if refused_keys(keys) > 0:
            break
        n = count_keys(keys)
        first = (floor(ts - SIZE, ADVANCE) + 1) * ADVANCE
        last = {last}
        if {room} > 0 and room(out) < n * {room} * ((last - first) // ADVANCE + 1):
            break
        left = first
        while left <= last:
            set_stamp(out, left + SIZE)
            for k in range(n):
                found = call_find(
                    find, instance, key_at(keys, k), bucket_at(keys, k), left, stamp + i - begin
                )
                if not is_null(found):
                    user({windows}, t, out)
            left += ADVANCE
        i += 1
    close_out(out, out_address)
    close_keys(keys, keys_address)
    return i + 1
"""

ROUTE = """\
open_keys, clear_keys, close_keys = open_key_set(KEYS)

@kernel
def route(keys_address, columns, begin, end, masks):
{pointers}
    keys = open_keys(keys_address)
    owner = pointer_at(keys_address, 4)
    marks = carray(masks, (end - begin,), int64)
    i = begin
    while i < end:
        t = {tuple}
        clear_keys(keys)
        user_keys(t, keys)
        if refused_keys(keys) > 0:
            break
        mask = int64(0)
        for k in range(count_keys(keys)):
            mask |= int64(1) << load(owner, bucket_at(keys, k), int32)
        marks[i - begin] = mask
        i += 1
    close_keys(keys, keys_address)
    return i + 1
"""

EXPIRE = """\
open_out, room, close_out = open_emitter(OUTPUT)

@kernel
def expire(entries, begin, end, left, out_address):
    out = open_out(out_address)
    set_stamp(out, left + {size})
    i = begin
    while i < end and room(out) >= {max_outputs}:
        at = offset(entries, i * {stride} + {head})
        w = {windows}
        if w[0].left == left:
{calls}
            pass
        i += 1
    close_out(out, out_address)
    return i + 1
"""

# Four probes at a time share the loads of the kept tuples. Whether any pair matches is a vector
# loop over masks.
MATCH = """\
@kernel
def match(probes, begin, end, others, first, last, pairs, capacity):
{probe_pointers}
{stored_pointers}
    found = 0
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
                            if found < capacity:
                                store_word(pairs, 2 * found, {left})
                                store_word(pairs, 2 * found + 1, {right})
                            found += 1
        i += width
    return found + 1
"""

PAIRS = """\
open_out, room, close_out = open_emitter(OUTPUT)

@kernel
def emit_pairs(lefts, rights, pairs, times, begin, end, out_address):
{left_pointers}
{right_pointers}
    out = open_out(out_address)
    k = begin
    while k < end and room(out) >= {max_outputs}:
        i = load(pairs, 2 * k, int64)
        j = load(pairs, 2 * k + 1, int64)
        set_stamp(out, load(times, k, int64))
        user({left}, {right}, out)
        k += 1
    close_out(out, out_address)
    return k + 1
"""
