package streamlab.queries;

/** How many events of each type there are. */
public record Actions(long views, long clicks, long purchases) {
    public static final Actions NONE = new Actions(0, 0, 0);

    public static Actions of(byte type) {
        return new Actions(
                type == AdEvent.VIEW ? 1 : 0,
                type == AdEvent.CLICK ? 1 : 0,
                type == AdEvent.PURCHASE ? 1 : 0);
    }

    public Actions plus(Actions other) {
        return new Actions(
                views + other.views, clicks + other.clicks, purchases + other.purchases);
    }

    public boolean any() {
        return views + clicks + purchases > 0;
    }
}
