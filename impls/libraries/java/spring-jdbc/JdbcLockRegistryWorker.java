import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.concurrent.locks.Lock;
import lockbench.Busy;
import lockbench.Env;
import lockbench.Grant;
import lockbench.NotHeld;
import lockbench.Worker;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;

/** A worker for Spring Integration's JdbcLockRegistry, with the insert for PostgreSQL if the argument is "tuned". */
public class JdbcLockRegistryWorker {
    private static final String TABLE = "CREATE TABLE IF NOT EXISTS int_lock (lock_key CHAR(36) NOT NULL, region VARCHAR(100) NOT NULL, client_id CHAR(36), "
            + "created_date TIMESTAMP NOT NULL, expired_after TIMESTAMP NOT NULL, PRIMARY KEY (lock_key, region))";

    public static void main(String[] args) {
        new Worker<JdbcLockRegistry, Lock>("spring-jdbc-lock-registry" + (args.length > 0 ? "-tuned" : ""), env -> open(env, args.length > 0))
                .store("postgres").declare("reentrant").threadPerOwner().backoff(Duration.ofMillis(100)) // waiters of the registry also try every 100 ms
                .tryAcquire((registry, request) -> {
                    var lock = registry.obtain(request.key());
                    if (!lock.tryLock()) throw new Busy();
                    return new Grant<>(lock);
                })
                .release((registry, hold) -> {
                    try { hold.handle().unlock(); }
                    catch (ConcurrentModificationException expired) { throw new NotHeld(); }
                })
                .run();
    }

    private static JdbcLockRegistry open(Env env, boolean tuned) {
        var config = new HikariConfig();
        config.setJdbcUrl("jdbc:" + env.node().replace("postgres://", "postgresql://").replaceFirst("//.*@", "//"));
        config.setUsername("postgres");
        var source = new HikariDataSource(config);
        new JdbcTemplate(source).execute("SELECT pg_advisory_xact_lock(1); " + TABLE); // wait, because two processes must not create the table at the same time
        var repository = new DefaultLockRepository(source);
        if (tuned) repository.setInsertQuery(repository.getInsertQuery() + " ON CONFLICT DO NOTHING");
        repository.setTransactionManager(new JdbcTransactionManager(source));
        repository.afterPropertiesSet();
        repository.afterSingletonsInstantiated();
        return new JdbcLockRegistry(repository, env.ttl());
    }
}
