package streamlab;

import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.FlatMapFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.functions.windowing.WindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/** Aggregates the keys of tweets over Flink's sliding windows. */
final class Tweets {
    /** The keys of a tweet: its items (words or hashtags), or pairs of items. */
    enum Keys {
        ITEMS,
        PAIRS
    }

    /**
     * Multiplier of keys. Flink hashes a key by {@code Long.hashCode}, the exclusive or of its halves, which is equal
     * for many pairs of words. Pairs of texts would not collide like this, so the key is multiplied by this odd number
     * (2^64 divided by the golden ratio) before, and by its inverse modulo 2^64 after.
     */
    private static final long SPREAD = 0x9E3779B97F4A7C15L;

    private static final long INVERSE = 0xF1DE83E19937733DL;

    private Tweets() {}

    static SingleOutputStreamOperator<Answer> windows(
            DataStream<Event> tweets, Job job, Run.Id run, Keys keys, boolean longest) {
        int distance = keys == Keys.PAIRS ? job.number("distance") : 0;
        boolean bag = !longest && job.text("counting").equals("bag");
        long until = job.large("until");
        int maps = job.number("map_instances");
        return (maps == 0 ? tweets : tweets.rebalance())
                .flatMap(new Split(run, keys, distance, bag))
                .returns(TypeInformation.of(Word.class))
                .setParallelism(maps == 0 ? tweets.getParallelism() : maps)
                .keyBy(word -> word.key)
                .window(
                        SlidingEventTimeWindows.of(
                                Duration.ofMillis(job.large("ws_ms")),
                                Duration.ofMillis(job.large("wa_ms"))))
                .aggregate(new Aggregate(longest), new AtTheEnd())
                .returns(TypeInformation.of(Answer.class))
                .setParallelism(job.workers)
                // At the end of the input Flink also closes windows that the model leaves open.
                .filter(row -> row.ts <= until)
                .setParallelism(job.workers);
    }

    /** Emits the keys of a tweet, as a set or a bag. Its items are looked up in memory by row. */
    private static final class Split implements FlatMapFunction<Event, Word> {
        private final Run.Id run;
        private final Keys keys;
        private final int distance;
        private final boolean bag;
        private transient Run shared;
        private transient long[] items;

        Split(Run.Id run, Keys keys, int distance, boolean bag) {
            this.run = run;
            this.keys = keys;
            this.distance = distance;
            this.bag = bag;
        }

        @Override
        public void flatMap(Event tweet, Collector<Word> out) throws IOException {
            if (shared == null) {
                shared = Run.of(run);
                items = new long[64];
            }
            Stream stream = shared.job.stream(tweet.stream);
            int begin = tweet.row == 0 ? 0 : stream.listEnd[tweet.row - 1];
            int end = stream.listEnd[tweet.row];
            int count = keys == Keys.ITEMS ? addItems(stream, begin, end) : addPairs(stream, begin, end);
            if (!bag) {
                Arrays.sort(items, 0, count);
            }
            Word word = new Word();
            word.chars = (int) tweet.value;
            for (int index = 0; index < count; index++) {
                if (bag || index == 0 || items[index] != items[index - 1]) {
                    word.key = items[index] * SPREAD;
                    out.collect(word);
                }
            }
            if (shared.paced) {
                shared.doneNs[tweet.stream][tweet.row] = shared.nowNs();
            }
        }

        private int addItems(Stream stream, int begin, int end) {
            int count = 0;
            for (int index = begin; index < end; index++) {
                count = add(count, stream.list[index]);
            }
            return count;
        }

        private int addPairs(Stream stream, int begin, int end) {
            int count = 0;
            for (int first = begin; first < end; first++) {
                int last = distance == 0 ? end : Math.min(end, first + distance + 1);
                for (int second = first + 1; second < last; second++) {
                    count = add(count, ((long) stream.list[first] << 32) + stream.list[second]);
                }
            }
            return count;
        }

        private int add(int count, long key) {
            if (count == items.length) {
                items = Arrays.copyOf(items, 2 * count);
            }
            items[count] = key;
            return count + 1;
        }
    }

    /** Counts words, or finds the length of their longest tweet. */
    private static final class Aggregate implements AggregateFunction<Word, Long, Long> {
        private final boolean longest;

        Aggregate(boolean longest) {
            this.longest = longest;
        }

        @Override
        public Long createAccumulator() {
            return 0L;
        }

        @Override
        public Long add(Word word, Long result) {
            return longest ? Math.max(result, word.chars) : result + 1;
        }

        @Override
        public Long getResult(Long result) {
            return result;
        }

        @Override
        public Long merge(Long a, Long b) {
            return longest ? Math.max(a, b) : a + b;
        }
    }

    /** Stamps a result with the right boundary of its window. */
    private static final class AtTheEnd implements WindowFunction<Long, Answer, Long, TimeWindow> {
        @Override
        public void apply(Long key, TimeWindow window, Iterable<Long> result, Collector<Answer> out) {
            Answer row = new Answer();
            row.ts = window.getEnd();
            row.other = key * INVERSE;
            row.value = result.iterator().next();
            out.collect(row);
        }
    }
}
