package streamlab.queries;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import streamlab.Job;

/**
 * Query II's counts of each user in a database, as in workloads/inputs/ads/databases/store.py: each new row
 * replaces its user's row, in a transaction that does not wait for the disk. Tasks share one connection.
 */
public final class Store {
    /** Stores nothing. */
    private static final Store NOWHERE = new Store();
    private static Store shared;

    private final PreparedStatement replace;

    private Store() {
        replace = null;
    }

    private Store(String path) throws SQLException {
        Connection connection = DriverManager.getConnection("jdbc:sqlite:" + path);
        try (Statement statement = connection.createStatement()) {
            statement.execute("PRAGMA journal_mode = MEMORY");
            statement.execute("PRAGMA synchronous = OFF");
            statement.execute("DROP TABLE IF EXISTS user_activity");
            statement.execute(
                    "CREATE TABLE user_activity"
                            + "(user INTEGER PRIMARY KEY, ts, views, clicks, purchases)");
        }
        replace = connection.prepareStatement("INSERT OR REPLACE INTO user_activity VALUES (?, ?, ?, ?, ?)");
    }

    /** Returns the store of all tasks. */
    public static synchronized Store of(Job job) {
        String path = job.text("persisted");
        if (path.isEmpty()) {
            return NOWHERE;
        }
        try {
            shared = shared == null ? new Store(path) : shared;
            return shared;
        } catch (SQLException error) {
            throw new IllegalStateException(error);
        }
    }

    public synchronized void put(Output.Activity row) {
        if (replace == null) {
            return;
        }
        try {
            replace.setLong(1, row.user());
            replace.setLong(2, row.ts());
            replace.setLong(3, row.actions().views());
            replace.setLong(4, row.actions().clicks());
            replace.setLong(5, row.actions().purchases());
            replace.executeUpdate();
        } catch (SQLException error) {
            throw new IllegalStateException(error);
        }
    }
}
