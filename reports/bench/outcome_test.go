package bench

import "testing"

// TestWorse checks the order of the outcomes. A worse outcome must be a larger constant, so that the function max
// returns the worse of two outcomes.
func TestWorse(t *testing.T) {
	for _, c := range []struct{ a, b, want Outcome }{
		{Pass, Pass, Pass}, {Pass, Noisy, Noisy}, {Pass, Unknown, Unknown}, {Noisy, Unknown, Unknown},
		{Noisy, Noisy, Noisy}, {Breach, Pass, Breach}, {Breach, Unknown, Breach}, {Breach, Noisy, Breach},
	} {
		if got, back := max(c.a, c.b), max(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("%v and %v: %v, and the other way round %v, want %v", c.a, c.b, got, back, c.want)
		}
	}
}
