package org.apache.storm.utils;

import java.io.Closeable;
import java.util.ArrayList;
import java.util.List;
import org.apache.storm.metrics2.StormMetricRegistry;
import org.apache.storm.policy.IWaitStrategy;
import org.apache.storm.shade.org.jctools.queues.MessagePassingQueue;
import org.apache.storm.shade.org.jctools.queues.MpscArrayQueue;
import org.apache.storm.shade.org.jctools.queues.MpscUnboundedArrayQueue;
import org.apache.storm.tuple.AddressedTuple;
import streamlab.Channels;
import streamlab.ScaleGate;

/**
 * Storm's receive queue, with a ScaleGate in its place if a task has several sources. It precedes Storm's
 * own class of this name on the class path, and has the same public methods. Tuples of a single source and
 * Storm's own tuples, such as ticks, use a queue as in Storm. It supports neither batches nor a second
 * worker.
 */
public class JCQueue implements Closeable {
    /** Takes the tuples. */
    public interface Consumer extends MessagePassingQueue.Consumer<Object> {
        @Override
        void accept(Object event);

        void flush() throws InterruptedException;
    }

    /** Decides whether to take more. */
    public interface ExitCondition {
        boolean keepRunning();
    }

    private final String name;
    private final MpscArrayQueue<Object> queue;
    private final List<JCQueueMetrics> metrics = new ArrayList<>();
    private final IWaitStrategy backPressure;
    /** Null if all tuples use the queue. Written before any event is sent. */
    private volatile ScaleGate gate;

    public JCQueue(
            String queueName,
            String metricNamePrefix,
            int size,
            int overflowLimit,
            int producerBatchSz,
            IWaitStrategy backPressureWaitStrategy,
            String topologyId,
            String componentId,
            List<Integer> taskIds,
            int port,
            StormMetricRegistry metricRegistry) {
        name = queueName;
        queue = new MpscArrayQueue<>(size);
        backPressure = backPressureWaitStrategy;
        MpscUnboundedArrayQueue<Object> overflow = new MpscUnboundedArrayQueue<>(2);
        for (int task : taskIds) {
            metrics.add(
                    new JCQueueMetrics(
                            metricNamePrefix, topologyId, componentId, task, port, metricRegistry, queue, overflow));
            Channels.register(
                    task, sources -> gate = new ScaleGate(sources, size / sources.size()));
        }
    }

    public String getQueueName() {
        return name;
    }

    @Override
    public void close() {
        metrics.forEach(JCQueueMetrics::close);
    }

    public int consume(Consumer consumer) {
        return consume(consumer, () -> true);
    }

    /** Hands over ready tuples while the condition holds; returns how many. */
    public int consume(Consumer consumer, ExitCondition condition) {
        int taken = 0;
        while (condition.keepRunning()) {
            Object tuple = next();
            if (tuple == null) {
                break;
            }
            consumer.accept(tuple);
            taken++;
        }
        try {
            if (taken > 0) {
                consumer.flush();
            }
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
        return taken;
    }

    private Object next() {
        Object tuple = queue.poll();
        return tuple == null && gate != null ? gate.next() : tuple;
    }

    /** Adds a tuple; waits until there is room. */
    public void publish(Object tuple) throws InterruptedException {
        for (int idle = 0; !tryPublish(tuple); ) {
            idle = backPressure.idle(idle);
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
        }
    }

    /** Adds a tuple; returns false if there is no room. */
    public boolean tryPublish(Object tuple) {
        ScaleGate channel = gate;
        int source = channel != null && tuple instanceof AddressedTuple sent ? channel.sourceOf(sent) : -1;
        boolean added = source < 0 ? queue.offer(tuple) : channel.add(source, (AddressedTuple) tuple);
        for (JCQueueMetrics metric : metrics) {
            if (added) {
                metric.notifyArrivals(1);
            } else {
                metric.notifyInsertFailure();
            }
        }
        return added;
    }

    public boolean tryPublishDirect(Object tuple) {
        return tryPublish(tuple);
    }

    public boolean tryPublishToOverflow(Object tuple) {
        throw new IllegalStateException("a tuple from another worker");
    }

    public void recordMsgDrop() {
        metrics.forEach(JCQueueMetrics::notifyDroppedMsg);
    }

    public boolean isEmptyOverflow() {
        return true;
    }

    public int getOverflowCount() {
        return 0;
    }

    public int size() {
        return queue.size();
    }

    public int getQueuedCount() {
        return queue.size();
    }

    public double getQueueLoad() {
        return (double) queue.size() / queue.capacity();
    }

    public void flush() {}

    public boolean tryFlush() {
        return true;
    }
}
