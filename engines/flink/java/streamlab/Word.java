package streamlab;

import java.io.IOException;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;
import org.apache.flink.types.CopyableValue;

/** A key of a tweet (a word, a pair of words, a hashtag) and the tweet's length. */
public final class Word implements CopyableValue<Word> {
    private static final int BYTES = 8 + 4;

    public long key;
    public int chars;

    @Override
    public void write(DataOutputView out) throws IOException {
        out.writeLong(key);
        out.writeInt(chars);
    }

    @Override
    public void read(DataInputView in) throws IOException {
        key = in.readLong();
        chars = in.readInt();
    }

    @Override
    public int getBinaryLength() {
        return BYTES;
    }

    @Override
    public void copyTo(Word target) {
        target.key = key;
        target.chars = chars;
    }

    @Override
    public Word copy() {
        Word copy = new Word();
        copyTo(copy);
        return copy;
    }

    @Override
    public void copy(DataInputView from, DataOutputView to) throws IOException {
        to.write(from, BYTES);
    }
}
