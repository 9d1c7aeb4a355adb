package streamlab.typed;

/** A key-value pair of a channel; a channel's other elements are markers. */
record Pair(long key, Object value) {}
