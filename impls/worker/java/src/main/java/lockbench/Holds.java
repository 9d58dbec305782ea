package lockbench;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The holds of a worker by the id of the acquire. Recently released holds are kept, because a release may be repeated. */
final class Holds<H> {
    private static final int REMEMBERED = 1 << 14;

    private final Map<Long, Hold<H>> known = new HashMap<>();
    private final Map<Owned, Deque<Long>> current = new HashMap<>(); // ids of an owner's holds of a key, the newest first
    private final Deque<Long> released = new ArrayDeque<>();

    private record Owned(String owner, String key) {}

    synchronized Hold<H> find(long id) {
        return known.get(id);
    }

    /** Returns the number of holds that an owner has on a key. */
    synchronized int depth(String owner, String key) {
        return current.getOrDefault(new Owned(owner, key), new ArrayDeque<>()).size();
    }

    /** Returns the newest hold that an owner has on a key, or null. */
    synchronized Hold<H> newest(String owner, String key) {
        Deque<Long> ids = current.get(new Owned(owner, key));
        return ids == null ? null : known.get(ids.getFirst());
    }

    /** Returns the current holds. */
    synchronized List<Hold<H>> current() {
        return current.values().stream().flatMap(Deque::stream).map(known::get).toList();
    }

    synchronized void add(long id, Hold<H> hold) {
        known.put(id, hold);
        current.computeIfAbsent(new Owned(hold.owner(), hold.key()), owned -> new ArrayDeque<>()).addFirst(id);
    }

    /** Removes a hold from the current holds. Must be called before the release. */
    synchronized void end(long id) {
        Hold<H> hold = known.get(id);
        if (hold == null) {
            return;
        }
        Owned owned = new Owned(hold.owner(), hold.key());
        Deque<Long> ids = current.get(owned);
        if (ids == null || !ids.remove(id)) {
            return; // the hold was already released
        }
        hold.grant.over();
        if (ids.isEmpty()) {
            current.remove(owned);
        }
        released.addLast(id);
        if (released.size() > REMEMBERED) {
            known.remove(released.removeFirst());
        }
    }
}
