package lockbench;

import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * A request for a lock.
 *
 * @param <H> the type of the library's lock object
 */
public final class Acquire<H> {
    /** The wait of a request without a timeout. It is longer than any trial. */
    public static final Duration NO_TIMEOUT = Duration.ofDays(365);

    private final String key;
    private final String owner;
    private final String token = UUID.randomUUID().toString();
    private final Duration ttl;
    private final Duration wait;
    private final boolean keepAlive;
    private final H outer;
    private final CountDownLatch cancelled = new CountDownLatch(1);
    private Thread interruptible; // the thread that waits inside the library, or null

    Acquire(String key, Request request, H outer) {
        this.key = key;
        this.outer = outer;
        owner = request.owner();
        ttl = request.ttl();
        wait = request.waitMillis() < 0 ? NO_TIMEOUT : Duration.ofMillis(request.waitMillis());
        keepAlive = request.keepAlive();
    }

    /** Returns the key, with the required prefix. */
    public String key() {
        return key;
    }

    /** Returns the name of the client. Only a re-entrant lock needs it. */
    public String owner() {
        return owner;
    }

    /** Returns a random token. It identifies the grant if the library does not choose a token. */
    public String token() {
        return token;
    }

    /** Returns the requested lease. */
    public Duration ttl() {
        return ttl;
    }

    /** Returns the longest time to wait. Zero means to try once. {@link #NO_TIMEOUT} means to wait until the grant. */
    public Duration waitTime() {
        return wait;
    }

    /** Reports whether the hold must be renewed until its release. */
    public boolean keepAlive() {
        return keepAlive;
    }

    /** Returns the lock object of the newest hold that the same owner has on this key. */
    public Optional<H> outer() {
        return Optional.ofNullable(outer);
    }

    /** Reports whether the acquire was cancelled. */
    public boolean cancelled() {
        return cancelled.getCount() == 0;
    }

    /** Waits for the given time. Returns false if the acquire was cancelled. */
    boolean pause(long nanos) throws InterruptedException {
        return !cancelled.await(nanos, TimeUnit.NANOSECONDS);
    }

    /** Until the call of {@link #end}, a cancel request interrupts the calling thread. */
    synchronized void begin() {
        interruptible = Thread.currentThread();
        if (cancelled()) {
            interruptible.interrupt();
        }
    }

    synchronized void end() {
        interruptible = null;
        Thread.interrupted(); // clears the interrupt of a cancel request that came too late
    }

    synchronized void cancel() {
        cancelled.countDown();
        if (interruptible != null) {
            interruptible.interrupt();
        }
    }
}
