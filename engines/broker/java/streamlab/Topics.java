package streamlab;

import java.util.HashMap;
import java.util.Map;
import java.util.Properties;

/** The topics of a dataset and the layout of their rows, from settings that Python wrote (`topic_settings`). */
final class Topics {
    /** A topic: where the columns begin in a row (-1: it has none); those of values are by kind, see `Rows.value`. */
    record Topic(String name, int stream, int partitions, int rows, int rowBytes, int kind, int tag, int[] value) {}

    final String broker;
    /** The beginning of the dataset's id, in each record. */
    final String dataset;
    /** Number of kinds in the alphabet: a tag is kind + kinds x key. */
    final int kinds;
    final long first;
    final Topic[] topics;
    private final Map<String, Topic> byName = new HashMap<>();

    Topics(Properties settings) {
        broker = settings.getProperty("broker");
        dataset = settings.getProperty("dataset");
        kinds = number(settings, "kinds");
        first = Long.parseLong(settings.getProperty("first"));
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

    private static int number(Properties settings, String name) {
        return Integer.parseInt(settings.getProperty(name));
    }
}
