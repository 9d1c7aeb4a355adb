package streamlab.queries;

import java.util.stream.IntStream;
import streamlab.Job;

/** The table of devices, which JFM joins; see workloads/suite/smart_home_prediction/devices.py. */
public final class Devices {
    /** The type of a device that the query drops. */
    public static final int DROPPED = -1;

    /** DEVICE_TYPES of workloads/inputs/power_readings/schema.py. */
    private static final int DEVICE_TYPES = 20;

    private final int[] typeOfPlug;
    private final int retained;

    public Devices(Job job) {
        typeOfPlug =
                IntStream.range(0, job.number("query.table_plugs"))
                        .map(plug -> plug % DEVICE_TYPES)
                        .toArray();
        retained = job.number("query.device_types");
    }

    /** Returns the type of a reading's device: from the table or, without one, from the reading. */
    public int type(Reading reading) {
        int type = reading.device();
        if (typeOfPlug.length > 0) {
            int plug = reading.plug();
            type = plug >= 0 && plug < typeOfPlug.length ? typeOfPlug[plug] : DROPPED;
        }
        return type >= 0 && type < retained ? type : DROPPED;
    }
}
