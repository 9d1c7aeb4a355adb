package streamlab.typed;

/** An operator of a typed graph: one of the templates of the paper's table 1. */
interface Operator {
    /** Returns an instance without state; only one instance of a stateless operator has `marks`. */
    Vertex start(Out<Object> out, boolean marks);
}
