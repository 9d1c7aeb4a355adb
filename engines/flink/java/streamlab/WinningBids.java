package streamlab;

import org.apache.flink.table.annotation.ArgumentHint;
import org.apache.flink.table.annotation.ArgumentTrait;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.FunctionHint;
import org.apache.flink.table.annotation.StateHint;
import org.apache.flink.table.functions.ProcessTableFunction;
import org.apache.flink.types.Row;

/**
 * The function `winning_bids` of Nexmark's queries: emits the highest bid of each auction (of equal prices, the
 * first) at the end of the step of `every_ms` in which the auction expires. No window of Flink's SQL ends by a column.
 *
 * <p>At the time at which an auction opens, bids may precede it; they are stored until it opens.
 */
@FunctionHint(
        output =
                @DataTypeHint(
                        "ROW<ts BIGINT, item BIGINT, initial_bid BIGINT, reserve BIGINT, opened BIGINT,"
                                + " expires BIGINT, seller BIGINT, category BIGINT, bidder BIGINT,"
                                + " price BIGINT, bid_ts BIGINT>"))
public final class WinningBids extends ProcessTableFunction<Row> {
    private static final int TYPE = 1;
    private static final int PERSON = 2;
    private static final int PRICE = 3;
    private static final int RESERVE = 4;
    private static final int EXPIRES = 5;
    private static final int CATEGORY = 6;
    private static final int NAME = 7;
    private static final int TS = 8;
    private static final long AUCTION = 1;

    /** An auction and its best bid; before the auction opens, the best bid of the latest time. */
    public static final class Auction {
        public boolean isOpen;
        public boolean hasBid;
        public long closes;
        public long item;
        public long initialBid;
        public long reserve;
        public long opened;
        public long expires;
        public long seller;
        public long category;
        public long bidder;
        public long price;
        public long bidTs;
    }

    public void eval(
            Context context,
            @StateHint Auction auction,
            @ArgumentHint(
                            value = {
                                ArgumentTrait.SET_SEMANTIC_TABLE,
                                ArgumentTrait.REQUIRE_ON_TIME
                            },
                            name = "offers")
                    Row offer,
            @ArgumentHint(name = "every_ms") Long everyMs) {
        long ts = field(offer, TS);
        TimeContext<Long> time = context.timeContext(Long.class);
        if (field(offer, TYPE) == AUCTION) {
            auction.expires = field(offer, EXPIRES);
            auction.hasBid &= auction.bidTs == ts;
            auction.isOpen = ts <= auction.expires;
            auction.closes = (auction.expires / everyMs + 1) * everyMs;
            auction.item = field(offer, NAME);
            auction.initialBid = field(offer, PRICE);
            auction.reserve = field(offer, RESERVE);
            auction.opened = ts;
            auction.seller = field(offer, PERSON);
            auction.category = field(offer, CATEGORY);
            time.registerOnTime(auction.isOpen ? auction.closes : ts);
            return;
        }
        boolean isHigher = !auction.hasBid || field(offer, PRICE) > auction.price;
        if (auction.isOpen ? isHigher && ts <= auction.expires : isHigher || ts > auction.bidTs) {
            auction.hasBid = true;
            auction.bidder = field(offer, PERSON);
            auction.price = field(offer, PRICE);
            auction.bidTs = ts;
        }
        if (!auction.isOpen) {
            time.registerOnTime(ts);
        }
    }

    /** Called when all events up to the time have been taken. */
    public void onTimer(OnTimerContext context, Auction auction) {
        long time = context.timeContext(Long.class).time();
        if (time < (auction.isOpen ? auction.closes : auction.bidTs)) {
            return; // The timer was set for an earlier bid.
        }
        if (auction.isOpen && auction.hasBid) {
            collect(
                    Row.of(
                            auction.closes,
                            auction.item,
                            auction.initialBid,
                            auction.reserve,
                            auction.opened,
                            auction.expires,
                            auction.seller,
                            auction.category,
                            auction.bidder,
                            auction.price,
                            auction.bidTs));
        }
        context.clearAllState(); // Clears no timers, because Flink 2.3 would remove the timers of all auctions.
    }

    private static long field(Row row, int index) {
        return (Long) row.getField(index);
    }
}
