package streamlab.typed;

/** An instance of an operator, with its state. */
interface Vertex {
    void item(long key, Object value);

    void marker(long ts);
}
