package streamlab;

/** Constants of the workloads (workloads/suite). */
final class Kind {
    /** The kind of the many events that do not depend on each other. */
    static final int BULK = 0;

    /** The kind on which all events of its key depend. */
    static final int SYNCHRONIZING = 1;

    /** Kinds of outputs of fraud_detection. */
    static final int FRAUD = 0;

    static final int AGGREGATE = 1;

    /** Modulus by which transactions and models are compared. */
    static final long MODULUS = 1000;

    /** The user in page_view_join's output for an update. */
    static final long NO_USER = -1;

    private Kind() {}
}
