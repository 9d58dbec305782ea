package format

import (
	"math"
	"slices"
	"strings"
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
		Plural(2, "loss"): "2 losses", Plural(3, "box"): "3 boxes", Plural(2, "child", "children"): "2 children", Plural(2, "do"): "2 dos",
		Short(0.5): "0.5", Short(1200): "1,200", Short(math.NaN()): None, Milliseconds(1234): "0.001", Milliseconds(999): "<0.001", Milliseconds(0): "0", Milliseconds(12_345): "0.012", Milliseconds(1_500_000): "1.50",
		Percent(0.5): "50 %", Percent(0.1234): "12.3 %", Percent(0.0001): "< 0.1 %", Percent(0.9999): "> 99.9 %", Percent(1): "100 %", Percent(math.NaN()): None,
		Lasting(12 * time.Second): "12 s", Lasting(3 * time.Minute): "3 min", Lasting(72 * time.Hour): "3 days", Lasting(-1): "0 s",
		Often(1): "once", Often(1200): "1,200 times", Gibibytes(0): "", Gibibytes(3 << 29): "1.50 GiB", When(time.Time{}): None,
		Escaped("a\x1b[31mb\u202e"): `a·\[31mb·`, InCode("a\u200bb`"): "a·b'", Clean("zero\u200dwidth\u2028"): "zero·width·",
		Times(0.9531): "0.953×", Escaped("a|b\n<c>~"): `a\|b &lt;c&gt;\~`,
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestLinesReplaceHiddenCharacters(t *testing.T) {
	lines := &Lines{Color: true}
	lines.AddPainted("31;1", "a\x1b[2J", " b\u202e")
	lines.PaintedColumns([][]string{{"", "name"}, {"✗", "x\u2066y\x07"}}, func(_, column int) string {
		return []string{"31", ""}[column]
	})
	want := "\x1b[31;1ma·[2J\x1b[0m b·\n     name\n  \x1b[31m✗\x1b[0m  x·y·\n"
	if got := lines.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNoTableIsTooWide checks that tables fit the terminal. The heading and the last column of a wide table must be
// broken into lines.
func TestNoTableIsTooWide(t *testing.T) {
	many := strings.Repeat("many words ", 12)
	for _, columns := range [][]string{{"name", "evidence"}, {"name", strings.Repeat("x", 80), "evidence"}, {"name", "a very long heading of a figure", "another long heading that is even longer", "one more", "so much of it", ""}} {
		row := slices.Repeat([]string{"12"}, len(columns))
		row[len(row)-1] = many
		lines := &Lines{}
		lines.PaintedColumns([][]string{columns, row}, nil)
		for line := range strings.Lines(lines.String()) {
			if n := Width(strings.TrimSuffix(line, "\n")); n > textWidth {
				t.Errorf("a line of %d columns: %s", n, line)
			}
		}
		if got := strings.Count(lines.String(), "many"); got != 12 {
			t.Errorf("%d of 12 words:\n%s", got, lines)
		}
	}
}
