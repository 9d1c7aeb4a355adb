package streamlab;

import java.io.IOException;
import java.io.Serializable;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.util.InstantiationUtil;

/** Writes the states of sources and sinks as Java does; a state is read only by the job that wrote it. */
final class Serializer<T extends Serializable> implements SimpleVersionedSerializer<T> {
    @Override
    public int getVersion() {
        return 0;
    }

    @Override
    public byte[] serialize(T state) throws IOException {
        return InstantiationUtil.serializeObject(state);
    }

    @Override
    public T deserialize(int version, byte[] bytes) throws IOException {
        try {
            return InstantiationUtil.deserializeObject(bytes, Serializer.class.getClassLoader());
        } catch (ClassNotFoundException error) {
            throw new IOException(error);
        }
    }
}
