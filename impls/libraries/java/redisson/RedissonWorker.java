import java.time.Duration;
import java.util.Set;
import lockbench.Busy;
import lockbench.Env;
import lockbench.Grant;
import lockbench.Worker;
import org.redisson.Redisson;
import org.redisson.RedissonMultiLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/** A worker for Redisson. The argument names a setting of library.yaml. */
public class RedissonWorker {
    private static final Set<String> LEASED = Set.of("lease", "fenced-lease", "multilock"); // settings with explicit leases

    public static void main(String[] args) {
        var use = args.length == 0 ? "lock" : args[0];
        var worker = new Worker<RedissonClient, RLock>("redisson-java-" + use, env -> connect(env, use))
                .shortestLease(Duration.ofSeconds(1)) // the watchdog's timer ticks every 100 ms
                .declare("reentrant", "cancel")
                .threadPerOwner(); // the lock belongs to the thread that acquired it
        if (!LEASED.contains(use)) worker.declare("watchdog");
        if (!use.equals("spin")) worker.declare("notifies");
        if (use.startsWith("fenced")) worker.declare("fencing").expect("reentrancy", "unspecified", "", "reentrant", "documented: each acquire increases the token, also a nested one");
        worker.acquire((redisson, request) -> {
                    var lock = request.outer().orElse(lock(redisson, use, request.key()));
                    var lease = !LEASED.contains(use) && request.keepAlive() ? Locks.WATCHDOG : request.ttl().toMillis();
                    var token = Locks.tryLock(lock, request, lease);
                    return new Grant<>(lock).fence(token.orElseThrow(Busy::new));
                })
                .release((redisson, hold) -> hold.handle().unlock())
                .run();
    }

    private static RLock lock(RedissonClient redisson, String use, String key) throws Exception {
        return use.equals("multilock") ? new RedissonMultiLock(redisson.getLock(key), redisson.getLock(key + ":second"))
                : Locks.create(redisson, use, key);
    }

    private static RedissonClient connect(Env env, String use) {
        var config = new Config().setCodec(StringCodec.INSTANCE); // the default codec of old versions fails on new JVMs
        var watchdog = LEASED.contains(use) ? env.ttl().dividedBy(2) : env.ttl(); // half of a lease, like the default of 30 s with leases of a minute
        config.setLockWatchdogTimeout(watchdog.toMillis());
        config.useSingleServer().setAddress(env.node());
        return Redisson.create(config);
    }
}
