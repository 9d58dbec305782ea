package lockbench;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The server of a worker: it reads requests, calls the functions of the adapter, and writes replies. */
final class Server<S, H> {
    static final int VERSION = 2;
    private static final int MAX_LINE = 1 << 20;
    private static final int MAX_ERROR = 1000;

    private final Worker<S, H> worker;
    private final InputStream in;
    private final OutputStream out;
    private final Executor pool = Executors.newCachedThreadPool(daemons());
    private final Map<String, Executor> owners = new ConcurrentHashMap<>();
    private final Map<Long, Acquire<H>> pending = new ConcurrentHashMap<>();
    private final Holds<H> holds = new Holds<>();
    private String secret = ""; // the URL of the guarded resource; error messages must not contain it
    private String prefix = "";
    private Resource resource;
    private S lock;

    private Server(Worker<S, H> worker, InputStream in, OutputStream out) {
        this.worker = worker;
        this.in = in;
        this.out = out;
    }

    /** Serves the standard streams, then ends the process. Skips shutdown hooks, because they may release a lock. */
    static <S, H> void main(Worker<S, H> worker) {
        OutputStream out = new FileOutputStream(FileDescriptor.out);
        System.setOut(System.err);
        var server = new Server<>(worker, new BufferedInputStream(new FileInputStream(FileDescriptor.in)), out);
        int status = 0;
        try {
            server.serve();
        } catch (Throwable e) {
            System.err.println(server.message(e));
            status = 1;
        }
        System.err.flush();
        Runtime.getRuntime().halt(status);
    }

    private void serve() throws Exception {
        Map<String, Object> first = Json.object(nextLine());
        if (Json.number(first, "lockbench_worker") != VERSION) {
            throw new IOException("the first line must be of version " + VERSION + " of the worker protocol");
        }
        boolean describe = Boolean.TRUE.equals(first.get("describe"));
        if (!describe) {
            open(first);
        }
        write(worker.description());
        for (String text; (text = nextLine()) != null;) {
            Request request = new Request(Json.object(text), System.nanoTime());
            if (request.verb().equals("shutdown")) {
                return;
            } else if (!describe) {
                take(request);
            }
        }
    }

    private void open(Map<String, Object> first) throws Exception {
        secret = Json.text(first, "resource");
        try {
            Env env = new Env(first, () -> holds.current().forEach(hold -> hold.grant.lost()));
            prefix = env.prefix();
            resource = new Resource(secret);
            lock = worker.open.open(env);
        } catch (Exception e) {
            write(Map.of("lockbench_worker", VERSION, "name", worker.name, "error", message(e)));
            throw e;
        }
    }

    /** Returns the next line, or null at the end of the input. */
    private String nextLine() throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int b; (b = in.read()) != '\n';) {
            if (b < 0) {
                return null;
            }
            if (line.size() == MAX_LINE) {
                throw new IOException("a line has more than " + MAX_LINE + " bytes");
            }
            line.write(b);
        }
        return line.toString(StandardCharsets.UTF_8);
    }

    private synchronized void write(Map<String, Object> line) {
        try {
            out.write((Json.write(line) + "\n").getBytes(StandardCharsets.UTF_8));
            out.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Starts to serve a request. Requests run in other threads, so that an acquire that waits does not delay a release. */
    private void take(Request request) {
        switch (request.verb()) {
            case "ping" -> reply(request, request.time() ? Map.of("ok", true, "time_ms", System.currentTimeMillis()) : Map.of("ok", true));
            case "cancel" -> {
                Acquire<H> acquire = pending.get(request.hold());
                if (acquire != null) {
                    acquire.cancel();
                }
            }
            case "acquire" -> {
                Hold<H> outer = holds.newest(request.owner(), prefix + request.key());
                pending.put(request.id(), new Acquire<>(prefix + request.key(), request, outer == null ? null : outer.grant.handle));
                start(threadOf(request), request);
            }
            case "release", "renew" -> start(threadOf(request), request);
            default -> start(pool, request);
        }
    }

    private Executor threadOf(Request request) {
        return worker.threadPerOwner ? owners.computeIfAbsent(request.owner(), owner -> newOwner()) : pool;
    }

    /** Returns an executor with one thread. The thread ends after an idle time that is longer than any hold. */
    private static Executor newOwner() {
        var executor = new ThreadPoolExecutor(1, 1, 10, TimeUnit.MINUTES, new LinkedBlockingQueue<>(), daemons());
        executor.allowCoreThreadTimeOut(true);
        return executor;
    }

    private static ThreadFactory daemons() {
        return task -> {
            Thread thread = new Thread(task);
            thread.setDaemon(true);
            return thread;
        };
    }

    private void start(Executor executor, Request request) {
        try {
            executor.execute(() -> answer(request));
        } catch (OutOfMemoryError e) { // the system could not start another thread
            pending.remove(request.id());
            reply(request, failure(e));
        }
    }

    private void answer(Request request) {
        if (request.verb().equals("acquire")) {
            answerAcquire(request);
            return;
        }
        Map<String, Object> line;
        try {
            line = switch (request.verb()) {
                case "release" -> release(request);
                case "renew" -> renew(request);
                case "probe" -> probe(request);
                case "read" -> ok("value", resource.read(request.key(), request.fence()));
                case "write" -> {
                    resource.write(request.key(), request.fence(), request.value());
                    yield ok();
                }
                case "append" -> {
                    resource.append(request.key(), request.fence());
                    yield ok();
                }
                default -> throw new IllegalArgumentException("unknown request " + request.verb());
            };
        } catch (Throwable e) {
            line = failure(e);
        }
        reply(request, line);
    }

    private void answerAcquire(Request request) {
        Acquire<H> acquire = pending.get(request.id());
        Grant<H> grant = null;
        Map<String, Object> line;
        try {
            long sent;
            do {
                sent = System.nanoTime();
                grant = worker.acquire != null ? waiting(acquire) : attempt(acquire, request.read());
            } while (grant == null);
            line = granted(request, acquire, grant, sent);
        } catch (Throwable e) {
            line = failure(e);
        }
        pending.remove(request.id());
        reply(request, line);
        if (grant != null) {
            grant.replied(notice -> report(request, notice));
        }
    }

    private Grant<H> waiting(Acquire<H> acquire) throws Exception {
        if (worker.capabilities.contains("cancel")) {
            acquire.begin();
        }
        try {
            return Objects.requireNonNull(worker.acquire.apply(lock, acquire), "acquire returned null");
        } finally {
            acquire.end();
        }
    }

    /** Tries once. After a refusal, it waits and returns null, or throws Busy if the acquire timed out or was cancelled. */
    private Grant<H> attempt(Acquire<H> acquire, long read) throws Exception {
        try {
            return Objects.requireNonNull(worker.tryAcquire.apply(lock, acquire), "tryAcquire returned null");
        } catch (Busy refused) {
            long left = acquire.waitTime().toNanos() - (System.nanoTime() - read);
            if (left <= 0 || !acquire.pause(Math.min(left, worker.backoff.toNanos()))) {
                throw refused;
            }
            return null;
        }
    }

    private Map<String, Object> granted(Request request, Acquire<H> acquire, Grant<H> grant, long sent) {
        Map<String, Object> line = ok();
        if (grant.depth == 0 && worker.capabilities.contains("reentrant")) {
            grant.depth = 1 + holds.depth(acquire.owner(), acquire.key());
        }
        String token = grant.token == null ? acquire.token() : grant.token;
        holds.add(request.id(), new Hold<>(acquire.key(), acquire.owner(), token, acquire.ttl(), grant));
        line.put("token", token);
        line.put("fence", grant.fence);
        line.put("depth", grant.depth);
        if (worker.acquire == null) {
            line.put("sent_after_ns", sent - request.read());
        }
        line.put("validity_ns", (grant.validity == null ? acquire.ttl() : grant.validity).toNanos());
        return line;
    }

    private Map<String, Object> release(Request request) throws Exception {
        Hold<H> hold = holdOf(request);
        holds.end(request.hold());
        try {
            worker.release.apply(lock, hold);
        } catch (IllegalMonitorStateException e) {
            throw new NotHeld();
        }
        return ok();
    }

    private Map<String, Object> renew(Request request) throws Exception {
        if (worker.renew == null) {
            throw new UnsupportedOperationException("renew");
        }
        long sent = System.nanoTime() - request.read();
        Map<String, Object> line = ok("validity_ns", worker.renew.apply(lock, holdOf(request)).toNanos());
        line.put("sent_after_ns", sent);
        return line;
    }

    private Map<String, Object> probe(Request request) throws Exception {
        if (worker.probe == null) {
            throw new UnsupportedOperationException("probe");
        }
        Stored stored = worker.probe.apply(lock, prefix + request.key());
        if (stored == null) {
            return ok();
        }
        Map<String, Object> line = ok("token", stored.token());
        line.put("left_ns", stored.left() == null ? -1 : stored.left().toNanos());
        return line;
    }

    private Hold<H> holdOf(Request request) {
        Hold<H> hold = holds.find(request.hold());
        return hold != null ? hold : new Hold<>(prefix + request.key(), request.owner(), request.token(), request.validity(), null);
    }

    private void report(Request acquire, Grant.Notice notice) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put(notice.validity() == null ? "lost" : "renewed", acquire.id());
        line.put("elapsed_ns", notice.time() - acquire.read());
        if (notice.validity() != null) {
            line.put("ok", true);
            line.put("validity_ns", notice.validity().toNanos());
        }
        write(line);
    }

    private void reply(Request request, Map<String, Object> outcome) {
        Map<String, Object> line = new LinkedHashMap<>(Map.of("id", request.id()));
        line.putAll(outcome);
        write(line);
    }

    private static Map<String, Object> ok() {
        return new LinkedHashMap<>(Map.of("ok", true));
    }

    private static Map<String, Object> ok(String name, Object value) {
        Map<String, Object> line = ok();
        line.put(name, value);
        return line;
    }

    private Map<String, Object> failure(Throwable e) {
        if (e instanceof Busy) {
            return Map.of("refused", "busy");
        } else if (e instanceof NotHeld) {
            return Map.of("refused", "not held");
        } else if (e instanceof Resource.Stale) {
            return Map.of("refused", "stale");
        }
        return Map.of("error", e instanceof InterruptedException ? "cancelled" : message(e));
    }

    /** Returns the type and message of an exception without passwords, cut to the maximum length of an error. */
    private String message(Throwable e) {
        String text = e.getClass().getSimpleName() + (e.getMessage() == null ? "" : ": " + e.getMessage());
        text = (secret.isEmpty() ? text : text.replace(secret, "<resource>")).replaceAll("://\\S*@", "://");
        return text.length() > MAX_ERROR ? text.substring(0, MAX_ERROR) : text;
    }
}
