import java.lang.reflect.InvocationTargetException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import lockbench.Acquire;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Locks of Redisson. Reflection calls the methods that old versions lack. */
class Locks {
    static final long WATCHDOG = -1; // as the lease, this value makes Redisson's watchdog renew the hold

    /** Creates a lock by getLock, getFairLock, getFencedLock or getSpinLock. */
    static RLock create(RedissonClient redisson, String use, String key) throws ReflectiveOperationException {
        var kind = switch (use) {
            case "fair" -> "Fair";
            case "fenced", "fenced-lease" -> "Fenced";
            case "spin" -> "Spin";
            default -> "";
        };
        return (RLock) RedissonClient.class.getMethod("get" + kind + "Lock", String.class).invoke(redisson, key);
    }

    /** Acquires a lock and returns the fencing token, which is 0 if the lock has none, or an empty result if the lock is busy. */
    static <H> Optional<Long> tryLock(RLock lock, Acquire<H> request, long lease) throws Exception {
        var wait = request.waitTime().toMillis();
        var type = lock.getClass();
        try {
            if (request.waitTime().equals(Acquire.NO_TIMEOUT)) {
                return Optional.of((Long) type.getMethod("lockAndGetToken", long.class, TimeUnit.class).invoke(lock, lease, TimeUnit.MILLISECONDS));
            }
            var tryLock = type.getMethod("tryLockAndGetToken", long.class, long.class, TimeUnit.class);
            return Optional.ofNullable((Long) tryLock.invoke(lock, wait, lease, TimeUnit.MILLISECONDS)); // tries once if the wait is 0
        } catch (NoSuchMethodException noToken) {
            return lock.tryLock(wait == 0 ? -1 : wait, lease, TimeUnit.MILLISECONDS) ? Optional.of(0L) : Optional.empty(); // tries once if the wait is -1
        } catch (InvocationTargetException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
    }
}
