package lockbench;

import java.time.Duration;

/**
 * A hold to release or renew.
 *
 * @param <H> the type of the library's lock object
 */
public final class Hold<H> {
    private final String key;
    private final String owner;
    private final String token;
    private final Duration ttl;
    final Grant<H> grant; // null if this process never had the hold

    Hold(String key, String owner, String token, Duration ttl, Grant<H> grant) {
        this.key = key;
        this.owner = owner;
        this.token = token;
        this.ttl = ttl;
        this.grant = grant;
    }

    /** Returns the library's lock object, or throws {@link NotHeld} if this process never had the hold. */
    public H handle() throws NotHeld {
        if (grant == null) {
            throw new NotHeld();
        }
        return grant.handle;
    }

    /** Returns the key, with the required prefix. */
    public String key() {
        return key;
    }

    /** Returns the name of the client. */
    public String owner() {
        return owner;
    }

    /** Returns the token of the grant. */
    public String token() {
        return token;
    }

    /** Returns the requested lease. */
    public Duration ttl() {
        return ttl;
    }
}
