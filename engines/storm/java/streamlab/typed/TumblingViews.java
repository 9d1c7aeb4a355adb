package streamlab.typed;

import streamlab.Job;
import streamlab.queries.Output.CampaignViews;

/** Query V: counts the views of each campaign in one window, and emits them at its end. */
final class TumblingViews
        extends OpKeyedUnordered<Long, CampaignViews, TumblingViews.Count, TumblingViews.Count> {
    /** The views of the window with a number; without views, the number is the least. */
    record Count(long views, long window) {
        static final Count NONE = new Count(0, Long.MIN_VALUE);
    }

    private final long windowMs;

    TumblingViews(Job job) {
        windowMs = job.time("query.window_ms");
    }

    @Override
    Count take(long campaign, Long ts) {
        return new Count(1, Math.floorDiv(ts, windowMs));
    }

    @Override
    Count identity() {
        return Count.NONE;
    }

    @Override
    Count combine(Count x, Count y) {
        return new Count(x.views + y.views, Math.max(x.window, y.window));
    }

    @Override
    Count initialState() {
        return Count.NONE;
    }

    @Override
    Count updateState(Count state, Count block) {
        if (block.views == 0) {
            return state;
        }
        return state.window == block.window ? combine(state, block) : block;
    }

    @Override
    void onMarker(Count state, long campaign, long ts, Out<CampaignViews> out) {
        if (state.views > 0 && (state.window + 1) * windowMs == ts) {
            out.emit(campaign, new CampaignViews(ts, campaign, state.views));
        }
    }
}
