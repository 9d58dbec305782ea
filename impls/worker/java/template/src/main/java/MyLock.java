import java.time.Duration;
import java.util.List;
import lockbench.Busy;
import lockbench.Grant;
import lockbench.NotHeld;
import lockbench.Stored;
import lockbench.Worker;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.params.SetParams;

/**
 * A worker that lets lockbench test a lock on Redis: SET NX PX, and scripts that compare the token. Replace the functions
 * with calls of your lock library. They are called concurrently.
 */
public class MyLock {
    static final String RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";
    static final String RENEW = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0";

    public static void main(String[] args) {
        // The first function opens your lock. Its result is passed to the other functions. The second type argument is
        // the type of your library's lock object, if it has one.
        new Worker<JedisPooled, Void>("my-lock", env -> new JedisPooled(env.node()))
                .doc("SET NX PX, and scripts that compare the token")
                // Acquires once, without waiting. Throw Busy only if another client holds the lock and the store was
                // not changed. After any other exception lockbench assumes that the lock may have been granted.
                .tryAcquire((redis, request) -> {
                    var once = new SetParams().nx().px(request.ttl().toMillis());
                    if (redis.set(request.key(), request.token(), once) == null) throw new Busy();
                    return new Grant<>(null); // instead of null: your library's lock object
                })
                // Releases the lock. Throw NotHeld only if the store no longer had the hold and was not changed. If
                // your library has a lock object, use hold.handle(). It throws NotHeld if this process never had the
                // hold.
                .release((redis, hold) -> {
                    if (redis.eval(RELEASE, List.of(hold.key()), List.of(hold.token())).equals(0L)) throw new NotHeld();
                })
                // Optional: renews a hold, and returns its new validity.
                .renew((redis, hold) -> {
                    var ttl = Long.toString(hold.ttl().toMillis());
                    if (redis.eval(RENEW, List.of(hold.key()), List.of(hold.token(), ttl)).equals(0L)) throw new NotHeld();
                    return hold.ttl();
                })
                // Optional: queries the store for the token and the remaining time. With it, lockbench can detect keys
                // that no client holds.
                .probe((redis, key) -> {
                    var token = redis.get(key);
                    var left = redis.pttl(key);
                    return token == null ? null : new Stored(token, left < 0 ? null : Duration.ofMillis(left));
                })
                .run();
    }
}
