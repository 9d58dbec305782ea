import java.time.Duration;
import java.util.concurrent.TimeUnit;
import lockbench.Busy;
import lockbench.Env;
import lockbench.Grant;
import lockbench.Worker;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** A worker for the class RLock of Redisson. */
public class RedissonWorker {
    private static final long WATCHDOG = -1; // a lease that Redisson renews

    public static void main(String[] args) {
        new Worker<RedissonClient, RLock>("redisson-rlock", RedissonWorker::connect)
                .doc("Redisson 3.52, its class RLock")
                .shortestLease(Duration.ofSeconds(1)) // the watchdog's timer ticks every 100 ms
                .declare("watchdog", "notifies", "reentrant", "cancel")
                .threadPerOwner() // the lock belongs to the thread that acquired it
                .acquire((redisson, request) -> {
                    var lock = redisson.getLock(request.key());
                    var lease = request.keepAlive() ? WATCHDOG : request.ttl().toMillis();
                    if (!lock.tryLock(request.waitTime().toMillis(), lease, TimeUnit.MILLISECONDS)) throw new Busy();
                    return new Grant<>(lock);
                })
                .release((redisson, hold) -> hold.handle().unlock())
                .run();
    }

    private static RedissonClient connect(Env env) {
        var config = new Config().setLockWatchdogTimeout(env.ttl().toMillis());
        config.useSingleServer().setAddress(env.node());
        return Redisson.create(config);
    }
}
