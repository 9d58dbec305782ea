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
    /** The validity of a grant without an end. */
    public static final Duration NO_END = Duration.ofNanos(-1);

    final H handle;
    String token; // null: the token of the request
    long fence;
    int depth;
    Duration validity;

    private final List<Notice> early = new ArrayList<>(); // notices before the reply to the acquire
    private Consumer<Notice> report; // null until the reply is written
    private boolean over; // whether a loss is no longer reported

    /** A notice of a loss, or of a renewal if validity is not null. The time is that of {@link System#nanoTime}. */
    record Notice(Duration validity, long time) {}

    /** Creates a grant of a lock object, which is passed to release and renew. It has the token of the request and the requested lease. */
    public Grant(H handle) {
        this.handle = handle;
    }

    /** Sets the token that identifies the grant in the store, if the library chooses it. */
    public Grant<H> token(String token) {
        this.token = token;
        return this;
    }

    /** Sets the fencing token. */
    public Grant<H> fence(long fence) {
        this.fence = fence;
        return this;
    }

    /** Sets the promised duration, counted from sending the acquire; {@link Duration#ZERO} if it is unknown. */
    public Grant<H> validity(Duration validity) {
        this.validity = validity;
        return this;
    }

    /** Sets the nesting depth. By default, the holds of the same owner are counted if the lock is re-entrant. */
    public Grant<H> depth(int depth) {
        this.depth = depth;
        return this;
    }

    /** Reports that the hold is lost. Calls after the first or after the release have no effect. */
    public synchronized void lost() {
        if (!over) {
            over = true;
            add(new Notice(null, System.nanoTime()));
        }
    }

    /**
     * Reports that the library renewed the hold by itself. The validity counts from this call: if the renewal was sent
     * earlier, subtract the time since then.
     */
    public synchronized void renewed(Duration validity) {
        add(new Notice(validity, System.nanoTime()));
    }

    /** Reports the notices from now on, after the reply to the acquire. */
    synchronized void replied(Consumer<Notice> report) {
        this.report = report;
        early.forEach(report);
        early.clear();
    }

    /** Ends the reports of a loss. */
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
