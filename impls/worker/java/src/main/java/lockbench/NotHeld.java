package lockbench;

/** A definite refusal of a release or renewal: the store no longer has the hold, and nothing was changed. */
public final class NotHeld extends Exception {
    public NotHeld() {
        super("not held", null, false, false);
    }
}
