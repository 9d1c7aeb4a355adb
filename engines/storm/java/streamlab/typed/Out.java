package streamlab.typed;

/** Takes the pairs that an operator emits. */
@FunctionalInterface
public interface Out<W> {
    void emit(long key, W value);
}
