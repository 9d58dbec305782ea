import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import lockbench.Acquire;
import lockbench.Busy;
import lockbench.Grant;
import lockbench.NotHeld;
import lockbench.Worker;
import org.springframework.integration.redis.util.RedisLockRegistry;

/** A worker for Spring Integration's RedisLockRegistry. The argument names a setting of library.yaml. */
public class RedisLockRegistryWorker {
    public static void main(String[] args) {
        var use = args.length == 0 ? "" : "-" + args[0];
        var worker = new Worker<RedisLockRegistry, Lock>("spring-redis-lock-registry" + use, env -> Registry.open(env, use))
                .declare("reentrant")
                .threadPerOwner() // the lock belongs to the thread that acquired it
                .release((registry, hold) -> {
                    try {
                        hold.handle().unlock();
                    } catch (IllegalStateException | ConcurrentModificationException expired) { // ConcurrentModificationException since 6.4
                        throw new NotHeld();
                    }
                });
        if (use.equals("-renewed")) worker.declare("watchdog");
        if (use.equals("-small")) worker.expect("owner-release", "unspecified", "", "misuse", "the registry has at most one held lock, the workload needs several");
        if (use.equals("-pubsub")) {
            worker.declare("notifies").acquire((registry, request) -> {
                var lock = registry.obtain(request.key());
                if (request.waitTime().equals(Acquire.NO_TIMEOUT)) lock.lockInterruptibly();
                else if (!lock.tryLock(request.waitTime().toMillis(), TimeUnit.MILLISECONDS)) throw new Busy();
                return new Grant<>(lock);
            });
        } else {
            worker.backoff(Duration.ofMillis(100)).tryAcquire((registry, request) -> { // the registry's own waiters also try every 100 ms
                var lock = registry.obtain(request.key());
                if (!lock.tryLock()) throw new Busy();
                return new Grant<>(lock);
            });
        }
        worker.run();
    }
}
