package lockbench;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/** The environment in which a worker opens its lock. */
public final class Env {
    private final List<String> nodes;
    private final Map<String, String> params;
    private final String prefix;
    private final String caFile;
    private final int process;
    private final long seed;
    private final Duration ttl;
    private final Runnable lostAll;

    Env(Map<String, Object> line, Runnable lostAll) {
        nodes = Json.texts(line, "nodes");
        params = Json.textMap(line, "params");
        prefix = Json.text(line, "prefix");
        caFile = Json.text(line, "ca_file");
        process = (int) Json.number(line, "process");
        seed = Json.number(line, "seed");
        ttl = Duration.ofMillis(Json.number(line, "ttl_ms"));
        this.lostAll = lostAll;
    }

    /** Returns the URLs of the servers. They may contain passwords: do not print them. */
    public List<String> nodes() {
        return nodes;
    }

    /** Returns the URL of the first server. */
    public String node() {
        return nodes.get(0);
    }

    /** Returns the servers as host:port, separated by commas. */
    public String addresses() {
        return String.join(",", nodes.stream().map(url -> java.net.URI.create(url).getAuthority()).toList());
    }

    /** Returns the prefix of every key in the store. The keys of requests already contain the prefix. */
    public String prefix() {
        return prefix;
    }

    /** Returns the number of this process, from 0. */
    public int process() {
        return process;
    }

    /** Returns the seed for random numbers, so that a trial can be repeated. */
    public long seed() {
        return seed;
    }

    /** Returns the lease that the acquires of this trial request. */
    public Duration ttl() {
        return ttl;
    }

    /** Returns the value of a parameter, or the given default. */
    public String param(String name, String otherwise) {
        return params.getOrDefault(name, otherwise);
    }

    /** Returns the file of certificates to trust, or "". */
    public String caFile() {
        return caFile;
    }

    /** Reports the loss of all current holds, for a lock whose holds end with a session. Any thread may call it. */
    public void lostAll() {
        lostAll.run();
    }
}
