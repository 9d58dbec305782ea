import java.time.Duration;
import java.util.concurrent.TimeUnit;
import lockbench.Busy;
import lockbench.Env;
import lockbench.Grant;
import lockbench.Worker;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** A worker for the class InterProcessMutex of Apache Curator. */
public class CuratorWorker {
    public static void main(String[] args) {
        new Worker<CuratorFramework, InterProcessMutex>("curator", CuratorWorker::connect)
                .doc("Apache Curator 5.9, its class InterProcessMutex")
                .store("zookeeper")
                .declare("session", "watchdog", "notifies", "reentrant", "cancel")
                .threadPerOwner() // the mutex belongs to the thread that acquired it
                .acquire((client, request) -> {
                    var path = "/" + request.key().replace("/", "%2F");
                    var mutex = request.outer().orElseGet(() -> new InterProcessMutex(client, path));
                    if (!mutex.acquire(request.waitTime().toMillis(), TimeUnit.MILLISECONDS)) throw new Busy();
                    return new Grant<>(mutex).validity(Duration.ZERO); // the hold has no fixed duration
                })
                .release((client, hold) -> hold.handle().release())
                .run();
    }

    private static CuratorFramework connect(Env env) throws InterruptedException {
        var session = (int) env.ttl().toMillis();
        var client = CuratorFrameworkFactory.newClient(env.addresses(), session, 5000, new ExponentialBackoffRetry(50, 5));
        client.getConnectionStateListenable().addListener((c, state) -> {
            if (state == ConnectionState.LOST) env.lostAll();
        });
        client.start();
        if (!client.blockUntilConnected(8, TimeUnit.SECONDS)) throw new IllegalStateException("no server answered");
        return client;
    }
}
