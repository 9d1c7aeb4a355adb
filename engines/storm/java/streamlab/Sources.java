package streamlab;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.Tuple;

/** The tasks that send to a bolt's task, numbered in the order of their ids. */
final class Sources {
    private final List<Integer> tasks;
    private int ended;

    Sources(List<Integer> tasks) {
        this.tasks = tasks;
    }

    /** Returns the sources of a task: its own merger, or all tasks of the components upstream. */
    static Sources of(TopologyContext context) {
        List<Integer> tasks = new ArrayList<>();
        for (GlobalStreamId input : context.getThisSources().keySet()) {
            String component = input.get_componentId();
            List<Integer> all = new ArrayList<>(context.getComponentTasks(component));
            Collections.sort(all);
            if (Layers.isMerger(component)) {
                tasks.add(all.get(context.getThisTaskIndex()));
            } else {
                tasks.addAll(all);
            }
        }
        Collections.sort(tasks);
        return new Sources(tasks);
    }

    List<Integer> tasks() {
        return tasks;
    }

    int indexOf(Tuple tuple) {
        return tasks.indexOf(tuple.getSourceTask());
    }

    /** Counts the end of a phase; returns whether all sources have ended it. */
    boolean end() {
        ended = (ended + 1) % tasks.size();
        return ended == 0;
    }
}
