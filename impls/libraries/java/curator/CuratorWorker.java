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

/** A worker for the class InterProcessMutex of Apache Curator, or for LeaderLatch if an argument is given. */
public class CuratorWorker {
    public static void main(String[] args) {
        if (args.length > 0) LatchWorker.serve(); // serve does not return
        new Worker<CuratorFramework, InterProcessMutex>("curator-java-mutex", CuratorWorker::connect)
                .store("zookeeper")
                .declare("session", "watchdog", "notifies", "lost", "reentrant", "cancel")
                .threadPerOwner() // the mutex belongs to the thread that acquired it
                .acquire((client, request) -> {
                    var path = "/" + request.key().replace("/", "%2F");
                    var mutex = request.outer().orElseGet(() -> new InterProcessMutex(client, path));
                    if (!mutex.acquire(request.waitTime().toMillis(), TimeUnit.MILLISECONDS)) throw new Busy();
                    return new Grant<>(mutex).validity(Duration.ZERO); // Curator promises no duration
                })
                .release((client, hold) -> hold.handle().release())
                .run();
    }

    /** Connects to ZooKeeper. When the session ends, the client reports the loss of every hold. */
    static CuratorFramework connect(Env env) throws InterruptedException {
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
