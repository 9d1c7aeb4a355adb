package streamlab;

import org.apache.flink.table.functions.ScalarFunction;

/**
 * The function `middle_of_bin` of generated queries: returns the middle of the bin of a number. Each
 * power of two has `steps` bins.
 */
public final class MiddleOfBin extends ScalarFunction {
    public double eval(Double value, Double smallest, Double largest, Integer steps) {
        if (value < 0) {
            return Double.NEGATIVE_INFINITY;
        }
        if (value < smallest) {
            return smallest / 2;
        }
        if (!(value <= largest)) {
            return Double.POSITIVE_INFINITY;
        }
        double power = Math.scalb(1.0, Math.getExponent(value));
        return power * (1 + (Math.floor((value / power - 1) * steps) + 0.5) / steps);
    }
}
