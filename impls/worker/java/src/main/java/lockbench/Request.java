package lockbench;

import java.time.Duration;
import java.util.Map;

/** A line that the worker reads after the first line. */
record Request(Map<String, Object> line, long read) {
    String verb() {
        return Json.text(line, "do");
    }

    long id() {
        return Json.number(line, "id");
    }

    /** Returns the id of the acquire to which a release, renewal or cancel refers, or 0. */
    long hold() {
        return Json.number(line, "hold");
    }

    String key() {
        return Json.text(line, "key");
    }

    String owner() {
        return Json.text(line, "owner");
    }

    Duration ttl() {
        return Duration.ofMillis(Json.number(line, "ttl_ms"));
    }

    long waitMillis() {
        return Json.number(line, "wait_ms");
    }

    /** Reports whether the reply to a ping must state the wall clock. */
    boolean time() {
        return Boolean.TRUE.equals(line.get("time"));
    }

    boolean keepAlive() {
        return Boolean.TRUE.equals(line.get("keep_alive"));
    }

    String token() {
        return Json.text(line, "token");
    }

    long fence() {
        return Json.number(line, "fence");
    }

    Duration validity() {
        return Duration.ofNanos(Json.number(line, "validity_ns"));
    }

    long value() {
        return Json.number(line, "value");
    }
}
