package streamlab.typed;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import streamlab.Job;

/**
 * A unit of the deployment, as the adapter wrote it; a SORT is part of the unit that reads it.
 *
 * @param vertex the vertex that it runs
 * @param inputs the names of the units that it reads; empty for the source
 * @param route how pairs find one of its tasks
 * @param degree the number of its tasks
 * @param marks whether it handles markers; true for only one copy of a stateless vertex
 */
record Unit(
        String name,
        String vertex,
        List<String> inputs,
        Splitter.Route route,
        int degree,
        boolean marks,
        boolean isLast)
        implements Serializable {
    static List<Unit> all(Job job) {
        List<Unit> units = new ArrayList<>();
        int count = job.number("units");
        for (int number = 0; number < count; number++) {
            String prefix = "unit." + number + ".";
            String inputs = job.text(prefix + "inputs");
            units.add(
                    new Unit(
                            job.text(prefix + "name"),
                            job.text(prefix + "vertex"),
                            inputs.isEmpty() ? List.of() : List.of(inputs.split(",")),
                            Splitter.Route.valueOf(job.text(prefix + "route")),
                            job.number(prefix + "degree"),
                            Boolean.parseBoolean(job.text(prefix + "marks")),
                            number == count - 1));
        }
        return units;
    }
}
