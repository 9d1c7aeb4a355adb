package streamlab;

import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.FunctionHint;
import org.apache.flink.table.functions.TableFunction;
import org.apache.flink.types.Row;

/** The function `side_input` of Nexmark's query 13: looks a key up in a table, which each task holds in memory. */
@FunctionHint(output = @DataTypeHint("ROW<`value` BIGINT>"))
public final class SideInput extends TableFunction<Row> {
    private transient long[] values;

    public void eval(Integer rows, Long key) {
        if (values == null) {
            values = new long[rows];
            for (int index = 0; index < rows; index++) {
                values[index] = rows - index;
            }
        }
        collect(Row.of(values[key.intValue()]));
    }
}
