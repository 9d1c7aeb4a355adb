package streamlab.typed;

import java.util.List;
import org.apache.storm.task.GeneralTopologyContext;

/** The tasks of a component in the order of their numbers. */
final class Tasks {
    private Tasks() {}

    static List<Integer> of(GeneralTopologyContext context, String component) {
        return context.getComponentTasks(component).stream().sorted().toList();
    }
}
