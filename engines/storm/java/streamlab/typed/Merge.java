package streamlab.typed;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * MRG, fused with the vertex after it: the union of its channels, block by block. A pair after a marker
 * waits until the marker has arrived on all channels.
 */
abstract class Merge {
    private final List<ArrayDeque<Object>> waiting = new ArrayList<>();
    private final boolean[] isAhead;
    private int missing;

    Merge(int channels) {
        isAhead = new boolean[channels];
        missing = channels;
        for (int channel = 0; channel < channels; channel++) {
            waiting.add(new ArrayDeque<>());
        }
    }

    abstract void pair(Pair pair);

    abstract void marker(long ts);

    /** Adds an element to a channel, and passes on all ready elements. */
    final void add(int channel, Object element) {
        if (isAhead[channel]) {
            waiting.get(channel).add(element);
            return;
        }
        take(channel, element);
        Object last = element; // The channel that came last to a marker determines its time.
        while (missing == 0) {
            marker(((Marker) last).ts());
            missing = isAhead.length;
            for (int next = 0; next < isAhead.length; next++) {
                isAhead[next] = false;
                while (!isAhead[next] && !waiting.get(next).isEmpty()) {
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
            isAhead[channel] = true;
            missing--;
        }
    }
}
