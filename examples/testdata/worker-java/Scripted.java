import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import lockbench.Acquire;
import lockbench.Busy;
import lockbench.Grant;
import lockbench.NotHeld;
import lockbench.Stored;
import lockbench.Worker;

/** A worker for the tests of the library: a lock in memory, whose behaviour depends on the key. */
public class Scripted {
    public static void main(String[] args) {
        var worker = new Worker<Map<String, String>, String>("scripted", env -> new ConcurrentHashMap<>())
                .doc("a \"lock\" in memory").store("none").declare("reentrant", "lost").expect("progress", "unspecified", "", "counter", "a test")
                .release((lock, hold) -> {
                    if (!lock.remove(hold.handle(), hold.owner()) && !hold.key().endsWith("sticky")) throw new NotHeld();
                })
                .renew((lock, hold) -> Duration.ofSeconds(7))
                .probe((lock, key) -> lock.containsKey(key) ? new Stored(lock.get(key), null) : null)
                .threadPerOwner();
        if (args.length > 0) {
            worker.acquire((lock, request) -> {
                if (request.waitTime().isZero()) throw new Busy();
                Thread.sleep(request.waitTime().toMillis());
                throw new IllegalStateException("waited");
            }).declare("cancel");
        } else {
            worker.tryAcquire(Scripted::tryAcquire);
        }
        worker.run();
    }

    private static Grant<String> tryAcquire(Map<String, String> lock, Acquire<String> request) throws Exception {
        var key = request.key();
        if (key.endsWith("loud")) System.out.println("this is loud");
        if (key.endsWith("fails")) throw new IllegalStateException("dial redis://user:secret@host/0 " + "x".repeat(1 << 20));
        var holder = lock.putIfAbsent(key, request.owner());
        if (holder != null && !holder.equals(request.owner())) throw new Busy();
        var grant = new Grant<>(key);
        if (key.endsWith("early")) grant.renewed(Duration.ofSeconds(5));
        if (key.endsWith("loses")) {
            new Thread(() -> {
                try {
                    Thread.sleep(50);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                grant.lost();
                grant.lost();
            }).start();
        }
        return grant;
    }
}
