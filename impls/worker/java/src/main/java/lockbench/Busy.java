package lockbench;

/** A definite refusal of an acquire: another client holds the lock, and the acquire left nothing behind. */
public final class Busy extends Exception {
    public Busy() {
        super("busy", null, false, false);
    }
}
