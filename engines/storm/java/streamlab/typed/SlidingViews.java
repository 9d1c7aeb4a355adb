package streamlab.typed;

import streamlab.Job;
import streamlab.queries.Output.CampaignViews;

/** Query IV: counts the views of each campaign by block, and adds up the last blocks. */
final class SlidingViews extends OpKeyedUnordered<Long, CampaignViews, SlidingViews.State, Long> {
    /** The views of the last blocks, in all and in a ring; `oldest` is the index of the oldest block. */
    record State(long views, long[] ofBlock, int oldest) {}

    private final int blocks;

    SlidingViews(Job job) {
        blocks = Math.toIntExact(job.time("query.window_ms") / job.time("markers"));
    }

    @Override
    Long take(long campaign, Long ts) {
        return 1L;
    }

    @Override
    Long identity() {
        return 0L;
    }

    @Override
    Long combine(Long x, Long y) {
        return x + y;
    }

    @Override
    State initialState() {
        return new State(0, new long[blocks], 0);
    }

    @Override
    State updateState(State state, Long block) {
        long[] ofBlock = state.ofBlock.clone();
        ofBlock[state.oldest] = block;
        long views = state.views + block - state.ofBlock[state.oldest];
        return new State(views, ofBlock, (state.oldest + 1) % blocks);
    }

    @Override
    void onMarker(State state, long campaign, long ts, Out<CampaignViews> out) {
        if (state.views > 0) {
            out.emit(campaign, new CampaignViews(ts, campaign, state.views));
        }
    }
}
