package streamlab;

import java.util.HashMap;
import java.util.Map;

/** The function of a workload that an instance applies to a record. */
interface Rule {
    byte REPORT = 0;

    static Rule of(String workload) {
        return switch (workload) {
            case "linear_road_pos_rep" -> event -> event.type() == REPORT;
            case "linear_road_new_seg" -> new NewSegment();
            default -> throw new IllegalArgumentException("no topology for " + workload);
        };
    }

    /** Returns whether all records of a vehicle go to the same instance. */
    static boolean isKeyed(String workload) {
        return workload.equals("linear_road_new_seg");
    }

    boolean forwards(Event event);

    /** Forgets all records; called between the warm-up and the timed phase. */
    default void reset() {}

    /** Forwards a vehicle's first report in a segment (Viper, section 4.2). */
    final class NewSegment implements Rule {
        private final Map<Integer, Integer> places = new HashMap<>();

        @Override
        public boolean forwards(Event event) {
            if (event.type() != REPORT) {
                return false;
            }
            int place =
                    event.expressway() << 16
                            | (event.direction() & 0xff) << 8
                            | (event.segment() & 0xff);
            Integer previous = places.put(event.vehicle(), place);
            return previous == null || previous != place;
        }

        @Override
        public void reset() {
            places.clear();
        }
    }
}
