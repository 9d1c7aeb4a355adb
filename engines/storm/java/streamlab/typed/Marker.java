package streamlab.typed;

/** A synchronization marker. */
record Marker(long ts) {}
