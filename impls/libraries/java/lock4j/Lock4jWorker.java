import com.baomidou.lock.LockInfo;
import com.baomidou.lock.LockTemplate;
import com.baomidou.lock.executor.RedissonLockExecutor;
import com.baomidou.lock.spring.boot.autoconfigure.Lock4jProperties;
import java.time.Duration;
import java.util.List;
import lockbench.Busy;
import lockbench.Env;
import lockbench.Grant;
import lockbench.NotHeld;
import lockbench.Worker;
import org.redisson.Redisson;
import org.redisson.config.Config;

/** A worker for the class LockTemplate of lock4j. The executor of lock4j for Redisson implements the lock. */
public class Lock4jWorker {
    public static void main(String[] args) {
        new Worker<LockTemplate, LockInfo>("lock4j", Lock4jWorker::open)
                .shortestLease(Duration.ofSeconds(1))
                .declare("notifies", "reentrant")
                .threadPerOwner() // the lock belongs to the thread that acquired it
                .acquire((template, request) -> {
                    var lock = template.lock(request.key(), request.ttl().toMillis(), request.waitTime().toMillis());
                    if (lock == null) throw new Busy();
                    return new Grant<>(lock);
                })
                .release((template, hold) -> {
                    if (!template.releaseLock(hold.handle())) throw new NotHeld();
                })
                .run();
    }

    private static LockTemplate open(Env env) throws Exception {
        var config = new Config();
        config.useSingleServer().setAddress(env.node());
        var template = new LockTemplate();
        template.setProperties(new Lock4jProperties());
        template.setExecutors(List.of(new RedissonLockExecutor(Redisson.create(config))));
        template.afterPropertiesSet();
        return template;
    }
}
