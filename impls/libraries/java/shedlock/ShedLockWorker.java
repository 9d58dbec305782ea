import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;
import java.time.Instant;
import lockbench.Busy;
import lockbench.Env;
import lockbench.Grant;
import lockbench.NotHeld;
import lockbench.Worker;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.springframework.jdbc.core.JdbcTemplate;

/** A worker for ShedLock's JdbcTemplateLockProvider, configured to use the clock of the database. */
public class ShedLockWorker {
    private static final String TABLE = "CREATE TABLE IF NOT EXISTS shedlock (name VARCHAR(64) PRIMARY KEY, "
            + "lock_until TIMESTAMP NOT NULL, locked_at TIMESTAMP NOT NULL, locked_by VARCHAR(255) NOT NULL)";

    public static void main(String[] args) {
        var worker = new Worker<LockProvider, SimpleLock>("shedlock", ShedLockWorker::open)
                .store("postgres")
                .tryAcquire((provider, request) -> new Grant<>(provider.lock(configuration(request.key(), request.ttl())).orElseThrow(Busy::new)))
                .release((provider, hold) -> {
                    try { hold.handle().unlock(); }
                    catch (IllegalStateException unlocked) { throw new NotHeld(); }
                })
                .expect("owner-release", "unspecified", "", "misuse", "unlock reports nothing");
        for (var late : new String[][] {{"", "long-hold"}, {"holder-stall", ""}, {"process-pause", ""}, {"pause-in-release", ""}, {"partition", ""},
                {"slow-network", ""}, {"delayed-release", ""}})
            worker.expect("lease-exclusion", "unspecified", late[0], late[1], "documented: unpredictable if a task lasts longer than lockAtMostFor");
        worker.run();
    }

    private static LockConfiguration configuration(String key, Duration lease) throws ReflectiveOperationException {
        var create = LockConfiguration.class.getConstructors()[0]; // versions before 4.15 have no parameter for the start time
        return (LockConfiguration) (create.getParameterCount() == 4 ? create.newInstance(Instant.now(), key, lease, Duration.ZERO) : create.newInstance(key, lease, Duration.ZERO));
    }

    private static LockProvider open(Env env) {
        var config = new HikariConfig();
        config.setJdbcUrl("jdbc:" + env.node().replace("postgres://", "postgresql://").replaceFirst("//.*@", "//"));
        config.setUsername("postgres");
        var jdbc = new JdbcTemplate(new HikariDataSource(config));
        jdbc.execute("SELECT pg_advisory_xact_lock(1); " + TABLE); // wait, because two processes must not create the table at the same time
        return new JdbcTemplateLockProvider(JdbcTemplateLockProvider.Configuration.builder()
                .withJdbcTemplate(jdbc).withLockedByValue("process-" + env.process()).usingDbTime().build());
    }
}
