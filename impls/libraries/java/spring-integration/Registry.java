import lockbench.Env;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/** Opens the registry of a setting. */
class Registry {
    static RedisLockRegistry open(Env env, String use) throws ReflectiveOperationException {
        var node = java.net.URI.create(env.node());
        var factory = new LettuceConnectionFactory(new RedisStandaloneConfiguration(node.getHost(), node.getPort()));
        factory.setEagerInitialization(true); // otherwise the first acquire of a new JVM takes seconds
        factory.afterPropertiesSet();
        var registry = new RedisLockRegistry(factory, env.prefix() + "registry", env.ttl().toMillis());
        switch (use) {
            case "-small" -> registry.setCacheCapacity(1);
            case "-pubsub" -> registry.setRedisLockType(RedisLockRegistry.RedisLockType.PUB_SUB_LOCK);
            case "-renewed" -> {
                var scheduler = new ThreadPoolTaskScheduler();
                scheduler.setDaemon(true);
                scheduler.initialize();
                RedisLockRegistry.class.getMethod("setRenewalTaskScheduler", TaskScheduler.class).invoke(registry, scheduler); // since 6.4
            }
            default -> {}
        }
        return registry;
    }
}
