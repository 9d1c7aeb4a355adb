package streamlab.typed;

/** Maps U(K, V) to U(L, W); see workloads/model/dataflow/operators.py. */
abstract class OpStateless<V, W> implements Operator {
    abstract void onItem(long key, V value, Out<W> out);

    void onMarker(long ts, Out<W> out) {}

    @Override
    @SuppressWarnings("unchecked")
    public final Vertex start(Out<Object> untyped, boolean marks) {
        Out<W> out = (Out<W>) (Out<?>) untyped;
        return new Vertex() {
            @Override
            public void item(long key, Object value) {
                onItem(key, (V) value, out);
            }

            @Override
            public void marker(long ts) {
                if (marks) {
                    onMarker(ts, out);
                }
            }
        };
    }
}
