import java.time.Duration;
import java.util.concurrent.TimeUnit;
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

/** A worker for Redisson. The argument is "lock" (with the watchdog), "lease" (with explicit leases) or "multilock". */
public class RedissonWorker {
    private static final long WATCHDOG = -1; // as the lease, this value makes Redisson's watchdog renew the hold

    public static void main(String[] args) {
        var use = args.length == 0 ? "lock" : args[0];
        var worker = new Worker<RedissonClient, RLock>("redisson-java-" + use, env -> connect(env, use))
                .shortestLease(Duration.ofSeconds(1)) // the watchdog's timer ticks every 100 ms
                .declare("notifies", "reentrant", "cancel")
                .threadPerOwner(); // the lock belongs to the thread that acquired it
        if (use.equals("lock")) worker.declare("watchdog");
        worker.acquire((redisson, request) -> {
                    var lock = request.outer().orElseGet(() -> lock(redisson, use, request.key()));
                    var lease = use.equals("lock") && request.keepAlive() ? WATCHDOG : request.ttl().toMillis();
                    var wait = request.waitTime().isZero() ? -1 : request.waitTime().toMillis(); // Redisson tries once if the wait is -1
                    if (!lock.tryLock(wait, lease, TimeUnit.MILLISECONDS)) throw new Busy();
                    return new Grant<>(lock);
                })
                .release((redisson, hold) -> hold.handle().unlock())
                .run();
    }

    private static RLock lock(RedissonClient redisson, String use, String key) {
        var lock = redisson.getLock(key);
        return use.equals("multilock") ? new RedissonMultiLock(lock, redisson.getLock(key + ":second")) : lock;
    }

    private static RedissonClient connect(Env env, String use) {
        var config = new Config().setCodec(StringCodec.INSTANCE); // the default codec of old versions fails on new JVMs
        var watchdog = use.equals("lock") ? env.ttl() : env.ttl().dividedBy(2); // half of a lease, like the default of 30 s with leases of a minute
        config.setLockWatchdogTimeout(watchdog.toMillis());
        config.useSingleServer().setAddress(env.node());
        return Redisson.create(config);
    }
}
