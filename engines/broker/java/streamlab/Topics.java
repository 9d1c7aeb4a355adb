package streamlab;

import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;

/** The topics of a dataset and the layout of their rows, from settings that Python wrote (`topic_settings`). */
final class Topics {
    /**
     * A topic. `tag` and `value` are the bytes of a row at which the columns begin, or -1 if it lacks the column;
     * `value` has one for each kind (see `Rows.value`).
     */
    record Topic(String name, int stream, int partitions, int rows, int rowBytes, int kind, int tag, int[] value) {}

    final String broker;
    /** The beginning of the dataset's id, which each record has. */
    final String dataset;
    /** Number of kinds in the alphabet: a tag is kind + kinds x key. */
    final int kinds;
    final long first;
    private final long silenceNs;
    final Topic[] topics;
    private final Map<String, Topic> byName = new HashMap<>();

    Topics(Properties settings) {
        broker = settings.getProperty("broker");
        dataset = settings.getProperty("dataset");
        kinds = number(settings, "kinds");
        first = Long.parseLong(settings.getProperty("first"));
        silenceNs = Long.parseLong(settings.getProperty("silence_ns"));
        topics = new Topic[number(settings, "streams")];
        for (int stream = 0; stream < topics.length; stream++) {
            int[] value = new int[kinds];
            for (int kind = 0; kind < kinds; kind++) {
                value[kind] = number(settings, "value." + stream + "." + kind);
            }
            topics[stream] =
                    new Topic(
                            settings.getProperty("topic." + stream),
                            stream,
                            number(settings, "partitions." + stream),
                            number(settings, "rows." + stream),
                            number(settings, "row_bytes." + stream),
                            number(settings, "kind." + stream),
                            number(settings, "tag." + stream),
                            value);
            byName.put(topics[stream].name, topics[stream]);
        }
    }

    Topic of(String name) {
        return byName.get(name);
    }

    /** Returns the number of rows of all topics. */
    long rows() {
        long all = 0;
        for (Topic topic : topics) {
            all += topic.rows;
        }
        return all;
    }

    /** Fails if the broker has sent nothing since a time of `System.nanoTime`, for longer than it may pause. */
    void checkHeard(long heardNs, String soFar) {
        if (System.nanoTime() - heardNs > silenceNs) {
            throw new IllegalStateException(
                    "the broker at " + broker + " sent nothing for " + TimeUnit.NANOSECONDS.toSeconds(silenceNs)
                            + " s after " + soFar + "; see `lab broker status` and its log, and start it again");
        }
    }

    /** Fails unless all rows have come. */
    void checkRows(long came) {
        if (came != rows()) {
            throw new IllegalStateException(
                    came + " of " + rows() + " rows came; delete the topics, and the next trial writes them again");
        }
    }

    private static int number(Properties settings, String name) {
        return Integer.parseInt(settings.getProperty(name));
    }
}
