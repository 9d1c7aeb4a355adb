package streamlab;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.functions.FilterFunction;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;

/**
 * Runs a SQL query on the table `row_events`: `ts`, `src`, `row` (the place of an event in the total
 * order), the columns of the input, and `time_`, the event time with its watermarks.
 *
 * <p>One task reads all streams in total order, and Flink keeps the order within a channel. Events of
 * a key are therefore processed, and floats added, in total order.
 */
final class Sql {
    private static final String EVENTS = "row_events";

    private Sql() {}

    /** Builds the job in `env` and returns the numbers of its tasks. */
    static Plans.Tasks build(StreamExecutionEnvironment env, Job job, Run.Id run)
            throws IOException {
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        tables.getConfig().set("table.local-time-zone", "UTC");
        // With local sums, Flink would add floats in another order.
        tables.getConfig().set("table.optimizer.agg-phase-strategy", "ONE_PHASE");
        DataType eventType = types(job);
        Schema schema =
                Schema.newBuilder()
                        .fromRowDataType(eventType)
                        .columnByMetadata("time_", DataTypes.TIMESTAMP_LTZ(3), "rowtime")
                        .watermark("time_", "SOURCE_WATERMARK()")
                        .build();
        DataStream<RowData> events =
                MemorySource.of(env, job, run, -1, 0, 1, EVENTS)
                        .map(new ToRow(run))
                        .returns(InternalTypeInfo.of((RowType) eventType.getLogicalType()))
                        .setParallelism(1);
        tables.createTemporaryView(EVENTS, events, schema);
        String[] statements = Files.readString(job.folder.resolve("query.sql")).split(";\\s*\n");
        for (int index = 0; index < statements.length - 1; index++) {
            tables.executeSql(statements[index]);
        }
        Table answer = tables.sqlQuery(statements[statements.length - 1]);
        DataType type = answer.getResolvedSchema().toPhysicalRowDataType();
        List<LogicalType> columns = type.getLogicalType().getChildren();
        int bytes = columns.size() * Long.BYTES;
        if (job.text("updates").equals("yes")) {
            DataStream<Row> changes = tables.toChangelogStream(answer);
            // The same number of tasks as before keeps the versions of a row in order.
            DataStream<Row> current =
                    changes.filter(new IsCurrent()).setParallelism(tasksOf(changes, job));
            return collect(current, job, new Collect<>(run, 0, bytes, Sql::putRow));
        }
        DataStream<RowData> rows = tables.toDataStream(answer, type.bridgedTo(RowData.class));
        return collect(rows, job, new Collect<>(run, 0, bytes, new Numbers(columns)));
    }

    private static <T> Plans.Tasks collect(DataStream<T> rows, Job job, Collect<T> sink) {
        int tasks = tasksOf(rows, job);
        rows.sinkTo(sink).setParallelism(tasks);
        return new Plans.Tasks(1, tasks);
    }

    private static int tasksOf(DataStream<?> rows, Job job) {
        return rows.getParallelism() > 0 ? rows.getParallelism() : job.workers;
    }

    private static DataType type(String type) {
        return switch (type) {
            case "double" -> DataTypes.DOUBLE().notNull();
            case "boolean" -> DataTypes.BOOLEAN().notNull();
            default -> DataTypes.BIGINT().notNull();
        };
    }

    private static DataType types(Job job) {
        List<DataTypes.Field> fields = new ArrayList<>();
        for (String name : List.of("ts", "src", "row")) {
            fields.add(DataTypes.FIELD(name, DataTypes.BIGINT().notNull()));
        }
        for (Job.Column column : job.columns) {
            fields.add(DataTypes.FIELD(column.name(), type(column.type())));
        }
        return DataTypes.ROW(fields).notNull();
    }

    /** Makes the row of an event; its columns are looked up in memory by stream and row. */
    private static final class ToRow implements MapFunction<Event, RowData> {
        private final Run.Id run;
        private transient Run shared;

        ToRow(Run.Id run) {
            this.run = run;
        }

        @Override
        public RowData map(Event event) throws IOException {
            if (shared == null) {
                shared = Run.of(run);
            }
            Object[] columns = shared.job.stream(event.stream).columns;
            GenericRowData result = new GenericRowData(3 + columns.length);
            result.setField(0, event.ts);
            result.setField(1, (long) event.stream);
            result.setField(2, (long) event.row);
            for (int index = 0; index < columns.length; index++) {
                if (columns[index] instanceof long[] longs) {
                    result.setField(3 + index, longs[event.row]);
                } else if (columns[index] instanceof double[] doubles) {
                    result.setField(3 + index, doubles[event.row]);
                } else {
                    result.setField(3 + index, ((int[]) columns[index])[event.row] != 0);
                }
            }
            return result;
        }
    }

    /** Selects new rows and the new values of changed ones. */
    private static final class IsCurrent implements FilterFunction<Row> {
        @Override
        public boolean filter(Row row) {
            return row.getKind() == RowKind.INSERT || row.getKind() == RowKind.UPDATE_AFTER;
        }
    }

    /** Writes a value as eight bytes: a whole number or a double. A Boolean becomes 0 or 1. */
    private static void put(Object value, ByteBuffer to) {
        if (value instanceof Double number) {
            to.putDouble(number);
        } else if (value instanceof Boolean truth) {
            to.putLong(truth ? 1 : 0);
        } else {
            to.putLong(((Number) value).longValue());
        }
    }

    private static void putRow(Row row, ByteBuffer to) {
        for (int index = 0; index < row.getArity(); index++) {
            put(row.getField(index), to);
        }
    }

    private static final class Numbers implements Collect.Layout<RowData> {
        private final RowData.FieldGetter[] fields;

        Numbers(List<LogicalType> types) {
            fields = new RowData.FieldGetter[types.size()];
            for (int index = 0; index < fields.length; index++) {
                fields[index] = RowData.createFieldGetter(types.get(index), index);
            }
        }

        @Override
        public void put(RowData row, ByteBuffer to) {
            for (RowData.FieldGetter field : fields) {
                Sql.put(field.getFieldOrNull(row), to);
            }
        }
    }
}
