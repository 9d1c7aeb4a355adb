package streamlab;

import org.apache.flink.table.functions.ScalarFunction;

/** The function `at_most` of generated queries: returns a number, or fails with a message if it exceeds a limit. */
public final class AtMost extends ScalarFunction {
    public long eval(Long number, Integer most, String message) {
        if (number > most) {
            throw new IllegalArgumentException(message);
        }
        return number;
    }
}
