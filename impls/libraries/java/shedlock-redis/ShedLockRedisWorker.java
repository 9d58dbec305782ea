import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicReference;
import lockbench.Busy;
import lockbench.Env;
import lockbench.Grant;
import lockbench.NotHeld;
import lockbench.Worker;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** A worker for ShedLock's RedisLockProvider, with safe updates if the argument is "safe". */
public class ShedLockRedisWorker {
    public static void main(String[] args) {
        var safe = args.length > 0;
        var worker = new Worker<LockProvider, AtomicReference<SimpleLock>>(safe ? "shedlock-redis-safe" : "shedlock-redis", env -> open(env, safe))
                .tryAcquire((provider, request) -> new Grant<>(new AtomicReference<>(
                        provider.lock(new LockConfiguration(Instant.now(), request.key(), request.ttl(), Duration.ZERO)).orElseThrow(Busy::new))))
                .renew((provider, hold) -> {
                    var extended = hold.handle().get().extend(hold.ttl(), Duration.ZERO);
                    hold.handle().set(extended.orElseThrow(NotHeld::new)); // the extended lock replaces the old one
                    return hold.ttl();
                })
                .release((provider, hold) -> {
                    try { hold.handle().get().unlock(); }
                    catch (IllegalStateException unlocked) { throw new NotHeld(); }
                })
                .expect("owner-release", "unspecified", "", "misuse", "unlock reports nothing");
        if (!safe) { // the documentation of safeUpdate: without it, a lock is also released if it is held by somebody else
            for (var late : new String[][] {{"", "long-hold"}, {"holder-stall", ""}, {"process-pause", ""}, {"pause-in-release", ""}, {"partition", ""},
                    {"slow-network", ""}, {"pause-before-answer", ""}, {"cancelled-acquire", ""}, {"partition-one-way", ""}})
                for (var property : new String[] {"lease-exclusion", "backed-promise"})
                    worker.expect(property, "unspecified", late[0], late[1], "documented: a late release or extension changes the next holder's key");
            worker.expect("lease-exclusion", "violated", "delayed-release", "", "a late release deletes the next holder's key");
        }
        worker.run();
    }

    private static LockProvider open(Env env, boolean safe) {
        var node = java.net.URI.create(env.node());
        var factory = new LettuceConnectionFactory(new RedisStandaloneConfiguration(node.getHost(), node.getPort()));
        factory.setEagerInitialization(true); // otherwise the first acquire of a new JVM takes seconds
        factory.afterPropertiesSet();
        return new RedisLockProvider.Builder(factory).safeUpdate(safe).build();
    }
}
