package streamlab;

import java.io.IOException;
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
 * Reads one task's share of the streams in total order.
 *
 * <p>A watermark promises that all events up to it have been read: it is the time of the last event
 * minus 1, since the next event may have the same time. The reader emits one after every few events,
 * and under a load before every wait. A load's heartbeats become watermarks when they are due.
 */
final class MemoryReader implements SourceReader<Event, MemorySource.Share> {
    /** Events per call from Flink, and per watermark. */
    private static final int EVENTS_A_CALL = 64;

    private static final long ALIGNMENT_WAIT_NS = 20_000;
    /** Longer waits release the task's thread. */
    private static final long LONG_WAIT_NS = 500_000;
    /** The timer releases the thread this much earlier; the thread waits for the rest itself. */
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
    /** Streams of this task, ascending, and the next row of each. */
    private final int[] indices;
    private final Stream[] streams;
    private final int[] next;
    private int beat;
    /** The stream with the load's heartbeats, which are the same for all streams of a task. */
    private final Stream beats;

    /** The number of this task in its source, and among the tasks of all sources. */
    private final int task;

    private final int number;
    /** This task's index in the alignment of the trial's own process; -1 without streams, or on a cluster. */
    private final int place;
    private CompletableFuture<Void> available;
    private long lastTs = Long.MIN_VALUE;
    private long handedOver;
    private long watermark = Long.MIN_VALUE;

    MemoryReader(Run run, int kinds, int task, int first, int tasks) throws IOException {
        this.run = run;
        this.kinds = kinds;
        this.task = task;
        number = first + task;
        List<Integer> mine = new ArrayList<>();
        for (int index = task; index < run.rows.length; index += tasks) {
            if ((run.job.kinds[index] & kinds) != 0) {
                mine.add(index);
            }
        }
        indices = mine.stream().mapToInt(Integer::intValue).toArray();
        streams = new Stream[indices.length];
        for (int position = 0; position < indices.length; position++) {
            streams[position] = run.job.stream(indices[position]);
        }
        next = new int[indices.length];
        beats = run.paced && indices.length > 0 ? streams[0] : null;
        boolean aligned = indices.length > 0 && run.alignment != null;
        // If bulk and synchronizing events have separate readers, the latter skip kind 0.
        place = aligned ? 2 * indices[0] + ((kinds & 1) == 0 ? 1 : 0) : -1;
        available = run.gate;
    }

    @Override
    public void start() {
        int first = earliest();
        if (place >= 0 && first >= 0) {
            run.alignment.reach(place, streams[first].ts[next[first]]);
        }
    }

    @Override
    public InputStatus pollNext(ReaderOutput<Event> output) throws IOException {
        if (!run.gate.isDone()) {
            return InputStatus.NOTHING_AVAILABLE;
        }
        run.gate.join(); // Fails if the trial has ended before.

        for (int turn = 0; turn < EVENTS_A_CALL; turn++) {
            int position = earliest();
            if (position < 0) {
                if (place >= 0) {
                    run.alignment.done(place);
                }
                run.sourceIsComplete(number, handedOver);
                return InputStatus.END_OF_INPUT;
            }
            Stream stream = streams[position];
            int row = next[position];
            if (run.paced) {
                // Also wait for events that another source reads: no watermark may precede them.
                long nowNs = run.nowNs();
                if (stream.dueNs[row] > nowNs) {
                    return await(stream.dueNs[row], nowNs, output);
                }
            } else if (turn == 0
                    && place >= 0
                    && run.alignment.tooFarAhead(place, stream.ts[row])) {
                // All events before the next one have been read, so operators may advance to there.
                emitWatermark(stream.ts[row] - 1, output);
                LockSupport.parkNanos(ALIGNMENT_WAIT_NS);
                return InputStatus.MORE_AVAILABLE;
            }
            next[position]++;
            lastTs = stream.ts[row];
            if ((kinds >> stream.kind(row) & 1) != 0) {
                output.collect(event(stream, indices[position], row), lastTs);
                handedOver++;
            }
        }
        emitProgress(output);
        return InputStatus.MORE_AVAILABLE;
    }

    private Event event(Stream stream, int index, int row) {
        // A new object each time: operators store it until all earlier events have arrived.
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

    /** Returns which stream has the next event in total order; -1 when all are read. */
    private int earliest() {
        int first = -1;
        long ts = Long.MAX_VALUE;
        for (int position = 0; position < indices.length; position++) {
            if (next[position] < run.rows[indices[position]]) {
                long candidate = streams[position].ts[next[position]];
                if (first < 0 || candidate < ts) {
                    first = position;
                    ts = candidate;
                }
            }
        }
        return first;
    }

    /** Emits the heartbeats that are due, and waits for the next event or heartbeat. */
    private InputStatus await(long dueNs, long nowNs, ReaderOutput<Event> output) {
        emitProgress(output);
        while (beat < beats.beatTs.length && beats.beatDueNs[beat] <= nowNs) {
            emitWatermark(beats.beatTs[beat++], output);
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

    /** Emits the watermark of the last event: its time minus 1, since the next may have its time. */
    private void emitProgress(ReaderOutput<Event> output) {
        if (lastTs != Long.MIN_VALUE) {
            emitWatermark(lastTs - 1, output);
        }
    }

    private void emitWatermark(long ts, ReaderOutput<Event> output) {
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
    public List<MemorySource.Share> snapshotState(long checkpoint) {
        return List.of(new MemorySource.Share(task, next.clone(), beat, lastTs, handedOver));
    }

    /** Resumes at a checkpoint; called only before `start`. */
    @Override
    public void addSplits(List<MemorySource.Share> splits) {
        for (MemorySource.Share share : splits) {
            if (share.task() != task) {
                throw new IllegalStateException("task " + task + " got the share of " + share.task());
            }
            System.arraycopy(share.next(), 0, next, 0, next.length);
            beat = share.beat();
            lastTs = share.lastTs();
            handedOver = share.handedOver();
        }
    }

    @Override
    public void notifyNoMoreSplits() {}

    @Override
    public void close() {}
}
