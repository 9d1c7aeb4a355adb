package streamlab;

import java.util.Arrays;
import java.util.List;

/** The Nexmark queries as steps; the first step selects and converts events, without a state. */
final class Queries {
    private static final int TS = 0;
    /** Columns of an event, in the order of the adapter (see workloads/inputs/nexmark/schema.py). */
    private static final int TYPE = 3;

    private static final int PERSON = 4;
    private static final int AUCTION = 5;
    private static final int PRICE = 6;
    private static final int RESERVE = 7;
    private static final int EXPIRES = 8;
    private static final int CATEGORY = 9;
    private static final int NAME = 10;
    private static final int CITY = 11;
    private static final int US_STATE = 12;
    private static final int CHANNEL = 13;
    private static final int EXTRA = 14;

    /** Values of TYPE. */
    static final long IS_PERSON = 0;

    static final long IS_AUCTION = 1;
    static final long IS_BID = 2;

    private static final long FIRST_CATEGORY = 10;

    private Queries() {}

    static boolean has(String workload) {
        return workload.startsWith("nexmark_q");
    }

    static List<Step> of(Job job) {
        return switch (job.workload) {
            case "nexmark_q0" -> List.of(
                    bids((t, out) -> out.emit(0, t[AUCTION], t[PERSON], t[PRICE], t[CHANNEL], t[EXTRA])));
            case "nexmark_q1" -> List.of(bids((t, out) -> out.emit(0, t[AUCTION], t[PERSON], euros(t))));
            case "nexmark_q2" -> selection(job.parameter("every"));
            case "nexmark_q3" -> List.of(
                    sellersAndAuctions(),
                    new Join((person, auction) -> new long[] {person[0], person[1], person[2], auction[0]}));
            case "nexmark_q4" -> List.of(
                    offers(),
                    new WinningBids(
                            job.parameter("every_ms"),
                            (auction, w, out) ->
                                    out.emit(w[WinningBids.CATEGORY], w[WinningBids.CATEGORY], w[WinningBids.PRICE])),
                    new CategoryAverages(job.parameter("every_ms")));
            case "nexmark_q5" -> List.of(
                    bids((t, out) -> out.emit(t[AUCTION], t[AUCTION])),
                    new SlidingCounts(job.parameter("slide_ms"), job.parameter("slides")),
                    new Highest(job.parameter("slide_ms"), 2, 1));
            case "nexmark_q6" -> List.of(
                    offers(),
                    new WinningBids(
                            job.parameter("every_ms"),
                            (auction, w, out) ->
                                    out.emit(
                                            w[WinningBids.SELLER],
                                            w[WinningBids.SELLER],
                                            auction,
                                            w[WinningBids.EXPIRES],
                                            w[WinningBids.PRICE])),
                    new SellerAverages(job.parameter("every_ms")));
            case "nexmark_q7" -> List.of(
                    bids((t, out) -> out.emit(t[PRICE], t[AUCTION], t[PERSON], t[PRICE], t[TS], t[EXTRA])),
                    new Highest(job.parameter("size_ms"), 5, 2),
                    new Highest(job.parameter("size_ms"), 5, 2));
            case "nexmark_q8" -> List.of(personsAndAuctions(), new NewSellers(job.parameter("size_ms")));
            case "nexmark_q9" -> List.of(
                    offers(), new WinningBids(job.parameter("every_ms"), WinningBids::emitAll));
            case "nexmark_q11" -> List.of(
                    bids((t, out) -> out.emit(t[PERSON], t[PERSON])), new Sessions(job.parameter("gap_ms")));
            case "nexmark_q12" -> List.of(
                    bids((t, out) -> out.emit(t[PERSON], t[PERSON])), new SlidingCounts(job.parameter("size_ms"), 1));
            case "nexmark_q13" -> sideInput(job.parameter("rows"));
            case "nexmark_q14" -> List.of(bids(Queries::calculate));
            case "nexmark_q15" -> statistics(job.parameter("day_ms"), false);
            case "nexmark_q16" -> statistics(job.parameter("day_ms"), true);
            case "nexmark_q17" -> List.of(
                    bids((t, out) -> out.emit(t[AUCTION], t[AUCTION], t[PRICE])),
                    new AuctionStatistics(job.parameter("day_ms")));
            case "nexmark_q18" -> List.of(
                    bids(
                            (t, out) -> {
                                long key = (t[PERSON] << 32) + t[AUCTION];
                                out.emit(key, t[AUCTION], t[PERSON], t[PRICE], t[CHANNEL], t[TS], t[EXTRA]);
                            }),
                    new LastBids(job.parameter("every_ms")));
            case "nexmark_q19" -> List.of(
                    bids(
                            (t, out) ->
                                    out.emit(
                                            t[AUCTION], t[AUCTION], t[PERSON], t[PRICE], t[CHANNEL], t[EXTRA])),
                    new TopBids());
            case "nexmark_q20" -> List.of(auctionsAndBids(), new Join(Queries::expandedBid));
            default -> throw new IllegalArgumentException("no query for " + job.workload);
        };
    }

    @FunctionalInterface
    private interface OfBid {
        void take(long[] bid, Output out);
    }

    private static Step bids(OfBid each) {
        return (t, state, out) -> {
            if (t[TYPE] == IS_BID) {
                each.take(t, out);
            }
        };
    }

    /** Returns the price in euro cents, with halves rounded up. */
    private static long euros(long[] bid) {
        return (bid[PRICE] * 908 + 500) / 1000;
    }

    private static List<Step> selection(long every) {
        return List.of(
                bids(
                        (t, out) -> {
                            if (t[AUCTION] % every == 0) {
                                out.emit(0, t[AUCTION], t[PRICE]);
                            }
                        }));
    }

    /** Returns the steps of query 13, whose table has the value rows - k for key k. */
    private static List<Step> sideInput(long rows) {
        long[] table = new long[(int) rows];
        Arrays.setAll(table, key -> rows - key);
        return List.of(
                bids(
                        (t, out) -> {
                            long value = table[(int) (t[AUCTION] % rows)];
                            out.emit(0, t[AUCTION], t[PERSON], t[PRICE], value);
                        }));
    }

    private static void calculate(long[] bid, Output out) {
        long milliCents = bid[PRICE] * 908;
        if (milliCents <= 1_000_000_000L || milliCents >= 50_000_000_000L) {
            return;
        }
        long hour = bid[TS] / 3_600_000 % 24;
        long dayPart = hour >= 8 && hour <= 18 ? 0 : hour <= 6 || hour >= 20 ? 1 : 2;
        long count = 0;
        long text = bid[EXTRA];
        for (int letter = 0; letter < 6; letter++, text /= 26) {
            count += text % 26 == 2 ? 1 : 0;
        }
        out.emit(0, bid[AUCTION], bid[PERSON], euros(bid), dayPart, bid[EXTRA], count);
    }

    private static Step sellersAndAuctions() {
        return (t, state, out) -> {
            if (t[TYPE] == IS_PERSON) {
                long joins = t[US_STATE] >= 1 && t[US_STATE] <= 3 ? 1 : -1; // CA, ID, OR
                out.emit(t[PERSON], t[PERSON], joins, t[NAME], t[CITY], t[US_STATE]);
            } else if (t[TYPE] == IS_AUCTION && t[CATEGORY] == FIRST_CATEGORY) {
                out.emit(t[PERSON], t[PERSON], 0, t[AUCTION], 0, 0);
            }
        };
    }

    private static Step auctionsAndBids() {
        return (t, state, out) -> {
            if (t[TYPE] == IS_AUCTION) {
                long joins = t[CATEGORY] == FIRST_CATEGORY ? 1 : -1;
                long key = t[AUCTION];
                out.emit(key, key, joins, t[NAME], t[PRICE], t[RESERVE], t[TS], t[EXPIRES], t[PERSON]);
            } else if (t[TYPE] == IS_BID) {
                long key = t[AUCTION];
                out.emit(key, key, 0, key, t[PERSON], t[PRICE], t[CHANNEL], t[TS], 0);
            }
        };
    }

    private static long[] expandedBid(long[] a, long[] b) {
        return new long[] {b[0], b[1], b[2], b[3], b[4], a[0], a[1], a[2], a[3], a[4], a[5]};
    }

    private static Step offers() {
        return (t, state, out) -> {
            if (t[TYPE] != IS_PERSON) {
                long key = t[AUCTION];
                out.emit(
                        key, t[TYPE], key, t[PERSON], t[PRICE], t[RESERVE], t[EXPIRES], t[CATEGORY], t[NAME]);
            }
        };
    }

    private static Step personsAndAuctions() {
        return (t, state, out) -> {
            if (t[TYPE] != IS_BID) {
                out.emit(t[PERSON], t[TYPE], t[PERSON], t[NAME]);
            }
        };
    }

    private static List<Step> statistics(long dayMs, boolean byChannel) {
        Step bids =
                bids(
                        (t, out) -> {
                            long channel = byChannel ? t[CHANNEL] : 0;
                            long bits = 1 | 2L << AuctionStatistics.priceRange(t[PRICE]);
                            out.emit((channel << 32) + t[PERSON], t[PERSON], channel, t[AUCTION], bits);
                        });
        return List.of(
                bids,
                DayStatistics.newBidders(dayMs),
                DayStatistics.newAuctions(dayMs),
                new DayStatistics(dayMs, byChannel));
    }
}
