package streamlab.queries;

import streamlab.Rows;

/** A reading of a smart plug; see workloads/inputs/power_readings/schema.py. */
public record Reading(long ts, int plug, int device, int watts) {
    static Reading of(Rows rows, int row) {
        return new Reading(rows.ts[row], rows.get(0, row), rows.get(1, row), rows.get(2, row));
    }

    public long loadMw() {
        return watts * 1000L;
    }
}
