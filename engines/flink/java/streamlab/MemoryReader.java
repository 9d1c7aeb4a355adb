package streamlab;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.core.io.InputStatus;

/**
 * Reads one task's share of the streams in their total order.
 *
 * <p>A watermark says that all events before it have been read: it is one less than the time of the
 * last event, since the next may have the same time. It comes after every few events, and under a
 * load before every wait. A load's heartbeats become watermarks when they are due.
 */
final class MemoryReader implements SourceReader<Event, MemorySource.NoSplit> {
    /** Events to a call of Flink, and to a watermark. */
    private static final int EVENTS_A_CALL = 64;

    private static final long ALIGNMENT_WAIT_NS = 20_000;
    /** What is longer is waited for without the task's thread. */
    private static final long LONG_WAIT_NS = 500_000;
    /** By how much the thread comes back sooner, to wait for the rest itself. */
    private static final long EARLY_NS = 200_000;

    private static final ScheduledExecutorService TIMER =
            Executors.newSingleThreadScheduledExecutor(
                    work -> {
                        Thread thread = new Thread(work, "due-times");
                        thread.setDaemon(true);
                        return thread;
                    });

    private final Run run;
    private final int kinds;
    /** Streams of this task, ascending, and in each the next row. */
    private final int[] mine;
    private final int[] next;
    private int beat;
    /** Of the load's heartbeats; all streams of a task have the same. */
    private final Stream beats;

    private final int place;
    private CompletableFuture<Void> available;
    private long lastTs = Long.MIN_VALUE;
    private long handedOver;
    private long watermark = Long.MIN_VALUE;

    MemoryReader(Run run, int kinds, int task, int tasks) {
        this.run = run;
        this.kinds = kinds;
        List<Integer> found = new ArrayList<>();
        for (int index = task; index < run.rows.length; index += tasks) {
            if ((run.job.streams[index].kinds & kinds) != 0) {
                found.add(index);
            }
        }
        mine = found.stream().mapToInt(Integer::intValue).toArray();
        next = new int[mine.length];
        beats = run.paced && mine.length > 0 ? run.job.streams[mine[0]] : null;
        // Where bulk and synchronizing events have readers of their own, the latter leave out kind 0.
        place = mine.length == 0 ? -1 : 2 * mine[0] + ((kinds & 1) == 0 ? 1 : 0);
        available = run.gate;
        int first = earliest();
        if (first >= 0) {
            run.alignment.reach(place, run.job.streams[mine[first]].ts[0]);
        }
    }

    @Override
    public void start() {}

    @Override
    public InputStatus pollNext(ReaderOutput<Event> output) {
        if (!run.gate.isDone()) {
            return InputStatus.NOTHING_AVAILABLE;
        }
        for (int turn = 0; turn < EVENTS_A_CALL; turn++) {
            int at = earliest();
            if (at < 0) {
                if (place >= 0) {
                    run.alignment.done(place);
                }
                run.handedOver.add(handedOver);
                return InputStatus.END_OF_INPUT;
            }
            Stream stream = run.job.streams[mine[at]];
            int row = next[at];
            if (run.paced) {
                // What another source hands over is waited for as well: nobody knows it sooner.
                long nowNs = run.nowNs();
                if (stream.dueNs[row] > nowNs) {
                    return await(stream.dueNs[row], nowNs, output);
                }
            } else if (turn == 0 && run.alignment.tooFarAhead(place, stream.ts[row])) {
                // All before the next event has been read; who waits for less may go on.
                say(stream.ts[row] - 1, output);
                LockSupport.parkNanos(ALIGNMENT_WAIT_NS);
                return InputStatus.MORE_AVAILABLE;
            }
            next[at]++;
            lastTs = stream.ts[row];
            if ((kinds >> stream.kind(row) & 1) != 0) {
                output.collect(event(stream, mine[at], row), lastTs);
                handedOver++;
            }
        }
        sayWhatIsRead(output);
        return InputStatus.MORE_AVAILABLE;
    }

    private Event event(Stream stream, int index, int row) {
        // A new one each time: operators keep it until all that comes before it is there.
        Event event = new Event();
        event.ts = stream.ts[row];
        event.stream = index;
        event.row = row;
        event.kind = stream.kind(row);
        event.key = stream.key(row);
        event.value = stream.value == null ? 0 : stream.value[row];
        if (run.paced) {
            run.sentNs[index][row] = run.nowNs();
        }
        return event;
    }

    /** Returns which of the streams has the next event in total order, -1 when all are read. */
    private int earliest() {
        int found = -1;
        long ts = Long.MAX_VALUE;
        for (int at = 0; at < mine.length; at++) {
            if (next[at] < run.rows[mine[at]]) {
                long own = run.job.streams[mine[at]].ts[next[at]];
                if (found < 0 || own < ts) {
                    found = at;
                    ts = own;
                }
            }
        }
        return found;
    }

    /** Waits for the next event, or for a heartbeat: one that is due now promises no event to come. */
    private InputStatus await(long dueNs, long nowNs, ReaderOutput<Event> output) {
        sayWhatIsRead(output);
        while (beat < beats.beatTs.length && beats.beatDueNs[beat] <= nowNs) {
            say(beats.beatTs[beat++], output);
        }
        if (beat < beats.beatTs.length) {
            dueNs = Math.min(dueNs, beats.beatDueNs[beat]);
        }
        long waitNs = dueNs - nowNs;
        if (waitNs <= LONG_WAIT_NS) {
            LockSupport.parkNanos(waitNs);
            return InputStatus.MORE_AVAILABLE;
        }
        CompletableFuture<Void> soon = new CompletableFuture<>();
        TIMER.schedule(() -> soon.complete(null), waitNs - EARLY_NS, TimeUnit.NANOSECONDS);
        available = soon;
        return InputStatus.NOTHING_AVAILABLE;
    }

    /** Says how far the events have been read: the next may have the time of the last. */
    private void sayWhatIsRead(ReaderOutput<Event> output) {
        if (lastTs != Long.MIN_VALUE) {
            say(lastTs - 1, output);
        }
    }

    private void say(long ts, ReaderOutput<Event> output) {
        if (ts > watermark) {
            watermark = ts;
            output.emitWatermark(new Watermark(ts));
        }
    }

    @Override
    public CompletableFuture<Void> isAvailable() {
        return available;
    }

    @Override
    public List<MemorySource.NoSplit> snapshotState(long checkpoint) {
        return List.of();
    }

    @Override
    public void addSplits(List<MemorySource.NoSplit> splits) {}

    @Override
    public void notifyNoMoreSplits() {}

    @Override
    public void close() {}
}
