package streamlab;

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

/** Aggregates for each key of tweets over Flink's sliding windows. */
final class Tweets {
    /** What is a key of a tweet. */
    enum Keys {
        ITEMS,
        PAIRS
    }

    private Tweets() {}

    static SingleOutputStreamOperator<Answer> windows(
            DataStream<Event> tweets, Job job, int run, Keys keys, boolean longest) {
        int distance = keys == Keys.PAIRS ? job.number("distance") : 0;
        boolean bag = !longest && job.text("counting").equals("bag");
        long until = job.large("until");
        return tweets.flatMap(new Split(run, keys, distance, bag))
                .returns(TypeInformation.of(Word.class))
                .setParallelism(tweets.getParallelism())
                .keyBy(word -> word.key)
                .window(
                        SlidingEventTimeWindows.of(
                                Duration.ofMillis(job.large("ws_ms")),
                                Duration.ofMillis(job.large("wa_ms"))))
                .aggregate(new Aggregate(longest), new AtTheEnd())
                .returns(TypeInformation.of(Answer.class))
                .setParallelism(job.workers)
                // At the end of the input Flink closes all windows; some are still open.
                .filter(row -> row.ts <= until)
                .setParallelism(job.workers);
    }

    /** The keys of a tweet, a set or a bag. A tweet is handed over as the place of its list in memory. */
    private static final class Split implements FlatMapFunction<Event, Word> {
        private final int run;
        private final Keys keys;
        private final int distance;
        private final boolean bag;
        private transient Run shared;
        private transient long[] found;

        Split(int run, Keys keys, int distance, boolean bag) {
            this.run = run;
            this.keys = keys;
            this.distance = distance;
            this.bag = bag;
        }

        @Override
        public void flatMap(Event tweet, Collector<Word> out) {
            if (shared == null) {
                shared = Run.of(run);
                found = new long[64];
            }
            Stream stream = shared.job.streams[tweet.stream];
            int begin = tweet.row == 0 ? 0 : stream.listEnd[tweet.row - 1];
            int end = stream.listEnd[tweet.row];
            int count = keys == Keys.ITEMS ? items(stream, begin, end) : pairs(stream, begin, end);
            if (!bag) {
                Arrays.sort(found, 0, count);
            }
            Word word = new Word();
            word.chars = (int) tweet.value;
            for (int at = 0; at < count; at++) {
                if (bag || at == 0 || found[at] != found[at - 1]) {
                    word.key = found[at];
                    out.collect(word);
                }
            }
        }

        private int items(Stream stream, int begin, int end) {
            int count = 0;
            for (int at = begin; at < end; at++) {
                count = add(count, stream.list[at]);
            }
            return count;
        }

        private int pairs(Stream stream, int begin, int end) {
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
            if (count == found.length) {
                found = Arrays.copyOf(found, 2 * count);
            }
            found[count] = key;
            return count + 1;
        }
    }

    /** How many words there are, or the length of the longest tweet that they are of. */
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
        public Long add(Word word, Long known) {
            return longest ? Math.max(known, word.chars) : known + 1;
        }

        @Override
        public Long getResult(Long known) {
            return known;
        }

        @Override
        public Long merge(Long one, Long other) {
            return longest ? Math.max(one, other) : one + other;
        }
    }

    /** Times a result at the right boundary of its window. */
    private static final class AtTheEnd implements WindowFunction<Long, Answer, Long, TimeWindow> {
        @Override
        public void apply(Long key, TimeWindow window, Iterable<Long> result, Collector<Answer> out) {
            Answer row = new Answer();
            row.ts = window.getEnd();
            row.other = key;
            row.value = result.iterator().next();
            out.collect(row);
        }
    }
}
