package lockbench;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A worker lets lockbench test a lock library. It speaks version 2 of the worker protocol on its standard streams. An
 * adapter only needs functions that call the library:
 *
 * <pre>{@code
 * new Worker<Client, Lock>("my-lock", env -> new Client(env.node()))
 *     .tryAcquire((client, request) -> {
 *         Lock lock = client.lock(request.key(), request.ttl());
 *         if (!lock.tryLock()) throw new Busy();
 *         return new Grant<>(lock);
 *     })
 *     .release((client, hold) -> hold.handle().unlock())
 *     .run();
 * }</pre>
 *
 * Functions are called concurrently. {@link Busy} and {@link NotHeld} are definite; any other exception means that the
 * request may have taken effect.
 *
 * @param <S> the type of the opened lock, such as a client of the store
 * @param <H> the type of the library's lock object; each hold has one
 */
public final class Worker<S, H> {
    /** A function of an adapter that returns a result. */
    @FunctionalInterface
    public interface Function<S, X, R> {
        R apply(S lock, X argument) throws Exception;
    }

    /** A function of an adapter without a result. */
    @FunctionalInterface
    public interface Action<S, X> {
        void apply(S lock, X argument) throws Exception;
    }

    /** A function that opens a lock. */
    @FunctionalInterface
    public interface Open<S> {
        S open(Env env) throws Exception;
    }

    final String name;
    final Open<S> open;
    final Set<String> capabilities = new LinkedHashSet<>();
    private final Map<String, Object> about = new LinkedHashMap<>();
    private final List<Map<String, Object>> expectations = new ArrayList<>();
    Duration backoff = Duration.ofMillis(20);
    boolean threadPerOwner;
    Function<S, Acquire<H>, Grant<H>> tryAcquire;
    Function<S, Acquire<H>, Grant<H>> acquire;
    Action<S, Hold<H>> release;
    Function<S, Hold<H>, Duration> renew;
    Function<S, String, Stored> probe;

    /** Creates a worker for a lock that {@code open} opens. */
    public Worker(String name, Open<S> open) {
        this.name = name;
        this.open = open;
        startTime(Duration.ofSeconds(30));
    }

    /** Sets the description of the lock, in one sentence. */
    public Worker<S, H> doc(String doc) {
        about.put("doc", doc);
        return this;
    }

    /** Sets the store; the default is redis. */
    public Worker<S, H> store(String store) {
        about.put("store", store);
        return this;
    }

    /** Sets the deployment of the store's servers, such as replica or five; the default is single. */
    public Worker<S, H> deployment(String deployment) {
        about.put("deployment", deployment);
        return this;
    }

    /** Adds capabilities that do not follow from the functions, such as watchdog, reentrant, lost, fencing, notifies or session. */
    public Worker<S, H> declare(String... names) {
        capabilities.addAll(List.of(names));
        return this;
    }

    /** Sets the delay between two tries of a waiter; the default is 20 ms. */
    public Worker<S, H> backoff(Duration delay) {
        backoff = delay;
        return this;
    }

    /** Sets the shortest lease that the lock supports. */
    public Worker<S, H> shortestLease(Duration lease) {
        about.put("shortest_lease_ms", lease.toMillis());
        return this;
    }

    /** Sets the duration of which every lease must be a multiple. */
    public Worker<S, H> leaseStep(Duration step) {
        about.put("lease_step_ms", step.toMillis());
        return this;
    }

    /** Sets the longest time from the start of the process to its first line, at most a minute; the default is 30 s. */
    public Worker<S, H> startTime(Duration longest) {
        about.put("start_ms", longest.toMillis());
        return this;
    }

    /** Adds a non-default expectation. An empty fault means no fault; an empty workload means all ordinary workloads. */
    public Worker<S, H> expect(String property, String verdict, String fault, String workload, String because) {
        Map<String, Object> expectation = new LinkedHashMap<>();
        expectation.put("property", property);
        expectation.put("verdict", verdict);
        expectation.put("fault", fault);
        expectation.put("workload", workload);
        expectation.put("because", because);
        expectation.values().removeIf(""::equals);
        expectations.add(expectation);
        return this;
    }

    /** Calls acquire, release and renew of one owner on the same thread. A library may require this if a thread owns a lock. */
    public Worker<S, H> threadPerOwner() {
        threadPerOwner = true;
        return this;
    }

    /** Sets the function that tries once to acquire, without waiting. The worker repeats the try until the grant or the timeout. */
    public Worker<S, H> tryAcquire(Function<S, Acquire<H>, Grant<H>> function) {
        tryAcquire = function;
        capabilities.add("cancel");
        return this;
    }

    /**
     * Sets the function that acquires, for a library that waits by itself. It must wait for at most
     * {@link Acquire#waitTime}. If the lock declares the capability cancel, a cancel request interrupts the thread of
     * the function.
     */
    public Worker<S, H> acquire(Function<S, Acquire<H>, Grant<H>> function) {
        acquire = function;
        capabilities.add("waits");
        return this;
    }

    /**
     * Sets the function that releases. An IllegalMonitorStateException counts as {@link NotHeld}, as defined by
     * java.util.concurrent.locks.
     */
    public Worker<S, H> release(Action<S, Hold<H>> action) {
        release = action;
        return this;
    }

    /** Sets the function that renews a hold. The function returns the new validity, counted from the call. */
    public Worker<S, H> renew(Function<S, Hold<H>, Duration> function) {
        renew = function;
        capabilities.add("renew");
        return this;
    }

    /** Sets the function that queries the store for the entry of a key. The function returns null if the key is free. */
    public Worker<S, H> probe(Function<S, String, Stored> function) {
        probe = function;
        capabilities.add("probe");
        return this;
    }

    /** Serves requests until the end of the input or a shutdown request. Then it ends the process without releasing holds. */
    public void run() {
        if ((tryAcquire == null) == (acquire == null) || release == null) {
            throw new IllegalStateException("define release, and either tryAcquire or acquire");
        }
        Server.main(this);
    }

    /** Returns the worker's first line. */
    Map<String, Object> description() {
        Map<String, Object> line = new LinkedHashMap<>(Map.of("lockbench_worker", Server.VERSION, "name", name));
        line.putAll(about);
        line.put("capabilities", capabilities);
        if (tryAcquire != null) {
            line.put("backoff_ms", backoff.toMillis());
        }
        if (!expectations.isEmpty()) {
            line.put("expect", expectations);
        }
        return line;
    }
}
