package streamlab.typed;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * MRG, fused with the vertex that follows: the union of its channels, block by block. A pair behind a marker
 * waits until that marker has arrived on all channels.
 */
abstract class Merge {
    private final List<ArrayDeque<Object>> waiting = new ArrayList<>();
    private final boolean[] ahead;
    private int missing;

    Merge(int channels) {
        ahead = new boolean[channels];
        missing = channels;
        for (int channel = 0; channel < channels; channel++) {
            waiting.add(new ArrayDeque<>());
        }
    }

    abstract void pair(Pair pair);

    abstract void marker(long ts);

    /** Adds an element to a channel, and passes on all that is ready. */
    final void add(int channel, Object element) {
        if (ahead[channel]) {
            waiting.get(channel).add(element);
            return;
        }
        take(channel, element);
        Object last = element; // The channel that came last to a marker determines its time.
        while (missing == 0) {
            marker(((Marker) last).ts());
            missing = ahead.length;
            for (int next = 0; next < ahead.length; next++) {
                ahead[next] = false;
                while (!ahead[next] && !waiting.get(next).isEmpty()) {
                    last = waiting.get(next).poll();
                    take(next, last);
                }
            }
        }
    }

    private void take(int channel, Object element) {
        if (element instanceof Pair pair) {
            pair(pair);
        } else {
            ahead[channel] = true;
            missing--;
        }
    }
}
