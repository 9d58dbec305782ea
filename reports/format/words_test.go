package format

import (
	"math"
	"testing"
	"time"
)

func TestFormats(t *testing.T) {
	hold := func(d time.Duration) string { return Setting(int64(d)) }
	for got, want := range map[string]string{
		Significant(0.1234): "0.123", Significant(9.999): "10.0", Significant(1234.5): "1,230", Significant(math.NaN()): None, Significant(0): "0",
		Duration(999.9e3): "1.00 ms", Duration(1500): "1.50 µs", Duration(90e9): "90.0 s", Duration(0): "0 ns",
		hold(time.Millisecond): "1 ms", hold(1500 * time.Microsecond): "1.5 ms", hold(90 * time.Second): "1m30s", hold(0): "0 s", hold(2 * time.Minute): "2 min", hold(time.Hour): "1 h",
		Plural(16, "key"): "16 keys", Plural(2, "history"): "2 histories", Plural(1, "pair"): "1 pair",
		Joined([]string{"a", "b", "c"}): "a, b and c", RankName(0.9999): "99.99 %",
		Escaped(`\[x\](y)`): `\\\[x\\\](y)`, Clean("a\x1b\u202eb"): "a··b",
		Times(0.9531): "0.953×", Escaped("a|b\n<c>~"): `a\|b &lt;c&gt;\~`,
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
