import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import lockbench.Busy;
import lockbench.Grant;
import lockbench.NotHeld;
import lockbench.Worker;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;

/** The worker for the class LeaderLatch of Apache Curator: a client holds the lock while it is the leader. */
public class LatchWorker {
    private static final long ELECTION = 200; // minimum wait in milliseconds, because a latch has no try without a wait
    /** The latches by client and key. As in a service, a client that loses its leadership remains a candidate. */
    private static final ConcurrentHashMap<String, LeaderLatch> candidates = new ConcurrentHashMap<>();

    static void serve() {
        new Worker<CuratorFramework, LeaderLatch>("curator-java-latch", CuratorWorker::connect)
                .store("zookeeper").declare("session", "watchdog", "notifies", "lost", "cancel")
                .acquire((client, request) -> {
                    var candidate = request.owner().replaceAll("[.].*", "") + request.key();
                    var latch = candidates.get(candidate);
                    if (latch == null) {
                        latch = new LeaderLatch(client, "/" + request.key().replace("/", "%2F"), candidate);
                        latch.start();
                    }
                    try {
                        if (!latch.await(Math.max(ELECTION, request.waitTime().toMillis()), TimeUnit.MILLISECONDS)) throw new Busy();
                    } catch (Busy | InterruptedException end) {
                        candidates.remove(candidate);
                        latch.close();
                        throw end;
                    }
                    candidates.put(candidate, latch);
                    var grant = new Grant<>(latch).validity(Duration.ZERO); // Curator promises no duration
                    latch.addListener(new LeaderLatchListener() {
                        public void isLeader() {}
                        public void notLeader() { grant.lost(); }
                    });
                    return grant;
                })
                .release((client, hold) -> {
                    if (!hold.handle().hasLeadership()) throw new NotHeld();
                    candidates.values().remove(hold.handle());
                    hold.handle().close();
                })
                .run();
    }
}
