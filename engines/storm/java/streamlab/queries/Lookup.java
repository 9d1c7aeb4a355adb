package streamlab.queries;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import streamlab.Job;

/** A task's table of look-ups: the campaign of each ad, or the location of each user. */
@FunctionalInterface
public interface Lookup {
    int NONE = -1;

    /** Returns the value of an id; NONE if the table does not have it. */
    int find(int id);

    /** Returns the table in memory or, if the job names a database, a connection to it. */
    static Lookup of(Job job) {
        String database = job.text("database");
        return database.isEmpty() ? inMemory(job) : inDatabase(database);
    }

    private static Lookup inMemory(Job job) {
        try {
            byte[] bytes = Files.readAllBytes(job.folder.resolve("table"));
            int[] values = new int[bytes.length / Integer.BYTES];
            ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().get(values);
            return id -> id >= 0 && id < values.length ? values[id] : NONE;
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static Lookup inDatabase(String uri) {
        try {
            Connection connection = DriverManager.getConnection("jdbc:sqlite:" + uri);
            PreparedStatement select =
                    connection.prepareStatement("SELECT value FROM lookup WHERE id = ?");
            return id -> query(select, id);
        } catch (SQLException error) {
            throw new IllegalStateException(error);
        }
    }

    private static int query(PreparedStatement select, int id) {
        try {
            select.setInt(1, id);
            try (ResultSet rows = select.executeQuery()) {
                return rows.next() ? rows.getInt(1) : NONE;
            }
        } catch (SQLException error) {
            throw new IllegalStateException(error);
        }
    }
}
