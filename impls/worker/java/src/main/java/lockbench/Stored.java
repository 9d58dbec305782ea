package lockbench;

import java.time.Duration;

/** The store's entry of a held key: the token of the holder, and the remaining time. A null time has no end. */
public record Stored(String token, Duration left) {}
