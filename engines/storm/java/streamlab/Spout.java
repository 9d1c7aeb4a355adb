package streamlab;

import java.io.Serializable;
import java.util.Map;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.base.BaseRichSpout;

/**
 * Emits the rows of its streams in order of time, phase by phase, with a marker between two blocks. All
 * spouts emit the same markers: those after the first row of the input, up to the end of its time.
 */
public abstract class Spout<E> extends BaseRichSpout {
    /** The marker that ends a phase. */
    public static final long END = Long.MAX_VALUE;
    private static final int ROWS_PER_CHECK = 64;

    /** Makes the event of a row. */
    public interface MakeEvent<E> extends Serializable {
        E of(Rows rows, int row);
    }

    private final MakeEvent<E> make;
    private transient Run run;
    private transient int number;
    /** The streams of this spout, and the next row of each. */
    private transient int[] streams;
    private transient int[] next;
    private transient int phase;
    private transient long marker;
    private transient long period;
    private transient int emitted;

    protected Spout(MakeEvent<E> make) {
        this.make = make;
    }

    protected abstract void start(SpoutOutputCollector collector);

    protected abstract void emit(E event);

    protected abstract void emitMarker(long ts);

    @Override
    public final void open(
            Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        run = Run.current();
        number = context.getThisTaskIndex();
        period = run.job.time("markers");
        int spouts = run.job.spouts;
        streams = new int[(run.job.rows.length - number + spouts - 1) / spouts];
        for (int i = 0; i < streams.length; i++) {
            streams[i] = number + i * spouts;
        }
        begin();
        start(collector);
        run.isPrepared();
    }

    private void begin() {
        next = new int[streams.length];
        marker = run.job.time("first_marker");
    }

    @Override
    public final void nextTuple() {
        if (!run.isOpen(phase)) {
            return;
        }
        int stream = earliest();
        long ts = stream < 0 ? END : ts(stream);
        if (marker <= ts && marker <= run.job.lastTime(phase)) {
            emitMarker(marker);
            marker += period;
        } else if (stream < 0) {
            run.lead.reached(number, END);
            emitMarker(END);
            phase++;
            begin();
        } else if (emitted % ROWS_PER_CHECK != 0 || run.lead.mayEmit(number, ts)) {
            emitted++;
            emit(make.of(run.job.rows[streams[stream]], next[stream]++));
        }
    }

    /** Returns the stream whose next row is the earliest; -1 if no rows are left. */
    private int earliest() {
        int earliest = -1;
        for (int stream = 0; stream < streams.length; stream++) {
            boolean hasRows = next[stream] < run.job.rowsOf(phase, streams[stream]);
            if (hasRows && (earliest < 0 || ts(stream) < ts(earliest))) {
                earliest = stream;
            }
        }
        return earliest;
    }

    private long ts(int stream) {
        return run.job.rows[streams[stream]].ts[next[stream]];
    }
}
