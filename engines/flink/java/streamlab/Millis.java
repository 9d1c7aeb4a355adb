package streamlab;

import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.functions.ScalarFunction;

/** The function `millis` of generated queries: returns the event time of a timestamp, in ms. */
public final class Millis extends ScalarFunction {
    public long eval(
            @DataTypeHint(value = "TIMESTAMP(3)", bridgedTo = TimestampData.class)
                    TimestampData time) {
        return time.getMillisecond();
    }
}
