import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.concurrent.locks.Lock;
import lockbench.Busy;
import lockbench.Env;
import lockbench.Grant;
import lockbench.NotHeld;
import lockbench.Worker;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;

/** A worker for Spring Integration's RedisLockRegistry. The argument, if given, is the capacity of the registry's cache. */
public class RedisLockRegistryWorker {
    public static void main(String[] args) {
        new Worker<RedisLockRegistry, Lock>("spring-redis-lock-registry", env -> open(env, args))
                .declare("reentrant")
                .threadPerOwner() // the lock belongs to the thread that acquired it
                .backoff(Duration.ofMillis(100)) // the registry's own waiters also try every 100 ms
                .tryAcquire((registry, request) -> {
                    var lock = registry.obtain(request.key());
                    if (!lock.tryLock()) throw new Busy();
                    return new Grant<>(lock);
                })
                .release((registry, hold) -> {
                    try {
                        hold.handle().unlock();
                    } catch (IllegalStateException | ConcurrentModificationException expired) { // ConcurrentModificationException since 6.4
                        throw new NotHeld();
                    }
                })
                .run();
    }

    private static RedisLockRegistry open(Env env, String[] args) {
        var node = java.net.URI.create(env.node());
        var factory = new LettuceConnectionFactory(new RedisStandaloneConfiguration(node.getHost(), node.getPort()));
        factory.setEagerInitialization(true); // otherwise the first acquire of a new JVM takes seconds
        factory.afterPropertiesSet();
        var registry = new RedisLockRegistry(factory, env.prefix() + "registry", env.ttl().toMillis());
        if (args.length > 0) registry.setCacheCapacity(Integer.parseInt(args[0]));
        return registry;
    }
}
