package streamlab;

import java.util.Map;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;

/** Emits a stream of the input, record by record and phase by phase. */
final class Injector extends BaseRichSpout {
    private final String consumer;
    private transient Run run;
    private transient Sender sender;
    private transient Rows rows;
    private transient Steps steps;
    private transient int number;
    private transient boolean isKeyed;
    private transient int phase;
    private transient int row;

    /** Sends to a component that has a task for each instance. */
    Injector(String consumer) {
        this.consumer = consumer;
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        run = Run.current();
        number = context.getThisTaskIndex();
        rows = run.job.rows[number];
        steps = run.newSteps();
        isKeyed = Rule.isKeyed(run.job.workload);
        sender =
                Sender.toAll(
                        context, consumer, (task, tuple) -> collector.emitDirect(task, tuple));
        run.isPrepared();
    }

    @Override
    public void nextTuple() {
        if (!run.isOpen(phase)) {
            return;
        }
        if (row == run.job.rowsOf(phase, number)) {
            run.lead.reached(number, Long.MAX_VALUE);
            sender.end(run.job.endOf(phase));
            phase++;
            row = 0;
            return;
        }
        long order = run.job.order(phase, rows.ts[row]);
        if (row % Sender.ROWS_PER_PROMISE == 0 && !run.lead.mayEmit(number, order)) {
            return;
        }
        long nowNs = System.nanoTime();
        Event event = Event.of(rows, row, order, nowNs);
        if (isKeyed) {
            sender.sendByHash(event.vehicle(), event);
        } else {
            sender.deal(event);
        }
        sender.countRow(order);
        if (run.job.isTimed(phase)) {
            steps.count(Steps.EMITTED, nowNs);
        }
        row++;
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        Sender.declareOutput(declarer);
    }
}
