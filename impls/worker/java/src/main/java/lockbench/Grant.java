package lockbench;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * A granted lock. Its methods {@link #lost} and {@link #renewed} may be called by any thread, even before the grant is
 * returned.
 *
 * @param <H> the type of the library's lock object
 */
public final class Grant<H> {
    /** The validity of a grant that does not expire. */
    public static final Duration NO_END = Duration.ofNanos(-1);

    final H handle;
    String token; // null: the token of the request
    long fence;
    int depth;
    Duration validity;

    private final List<Notice> early = new ArrayList<>(); // notices to write after the reply to the acquire
    private Consumer<Notice> report; // null until the reply is written
    private boolean over; // whether later losses are ignored

    /** A notice of a loss, or of a renewal if validity is not null. The time is that of {@link System#nanoTime}. */
    record Notice(Duration validity, long time) {}

    /** Creates a grant with the token and the lease of the request. The lock object is later passed to release and renew. */
    public Grant(H handle) {
        this.handle = handle;
    }

    /** Sets the token that identifies the grant in the store. Needed only if the library chooses the token. */
    public Grant<H> token(String token) {
        this.token = token;
        return this;
    }

    /** Sets the fencing token. */
    public Grant<H> fence(long fence) {
        this.fence = fence;
        return this;
    }

    /** Sets the promised duration, counted from sending the acquire. {@link Duration#ZERO} means that it is unknown. */
    public Grant<H> validity(Duration validity) {
        this.validity = validity;
        return this;
    }

    /** Sets the nesting depth. By default, the holds of the same owner are counted if the lock is re-entrant. */
    public Grant<H> depth(int depth) {
        this.depth = depth;
        return this;
    }

    /** Reports that the hold is lost. Later calls have no effect, nor do calls after the release. */
    public synchronized void lost() {
        if (!over) {
            over = true;
            add(new Notice(null, System.nanoTime()));
        }
    }

    /**
     * Reports that the library renewed the hold by itself. The validity counts from this call. If the renewal was sent
     * earlier, subtract the time since then.
     */
    public synchronized void renewed(Duration validity) {
        add(new Notice(validity, System.nanoTime()));
    }

    /** Passes the stored notices and all later ones to a function. Must be called after the reply to the acquire. */
    synchronized void replied(Consumer<Notice> report) {
        this.report = report;
        early.forEach(report);
        early.clear();
    }

    /** Makes later calls of {@link #lost} have no effect. */
    synchronized void over() {
        over = true;
    }

    private void add(Notice notice) {
        if (report == null) {
            early.add(notice);
        } else {
            report.accept(notice);
        }
    }
}
