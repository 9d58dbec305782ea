package lockbench;

import java.time.Duration;

/** The store's entry of a held key: the token of the holder, and the remaining time. It is null if the entry has no expiry. */
public record Stored(String token, Duration left) {}
