package requirements

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"lockbench/internal/yamlfile"
)

func someStores() Known {
	return Known{Stores: []string{"redis", "redis@five", "redis@replica", "redis@sentinel", "redis@cluster", "mysql", "postgres",
		"mongodb", "ferretdb", "zookeeper", "etcd"}, Languages: []string{"go", "java", "python"}}
}

// dialogues returns the lines that a user types in each test dialogue. The map key is the name of the golden file that holds
// the expected output.
func dialogues() map[string]string {
	return map[string]string{
		"defaults": strings.Repeat("\n", 12),
		"every answer": "corruption\nidempotent, compare-and-set\nwrites\n5ms 40ms 200ms\n8ms 60ms 400ms 120\n10s 2s\n32 50 yes no\n" +
			"redis postgres\nnone\ngo, java\ngoodput 2 recovery 0\ninventory the stock of each product\n",
		"some values": "Wasted-Work\nnone\n\n2m\n- - 400ms\n- 2s\n3 - Y\nredis@replica\nRestart,failover\nany\ngoodput=0; recovery: 8\ncron-leader\n",
		"more":        "?\n?\n\n?\n\n?\n\n?\n\n?\n\n?\n\n?\n\n?\n\n?\n\n?\n\n?\n\n?\n\n",
		"wrong answers": "who knows\ncoruption\ncorruption\nlocks\nnone\ntokens\n\n5 40 200\n5ms 4ms\n5ms 40ms 200ms 1s\n5ms 40ms 200ms\n1h 1h 1h 60\n\n" +
			"1ms\n30s forever\n10s\n0\n16 5000\n16 50 perhaps\n16 50 no no no\n16 50\nredis@fiv\nnone\nredis redis\nredis\nfire\nnone\ngo golang\ngo\n" +
			"goodput\nspeed 3\ngoodput 11\ngoodput 0 acquire 0 wait 0 fairness 0 recovery 0 commands 0\ngoodput 1\n../up\n<script>\nnull\nup a lock called <script>\n",
		"too many wrong answers": "corruption\nno\nnein\nnon\nnej\nnada\n",
		"the end":                "corruption\nnone",
		"no input":               "",
		"escapes":                "corruption\n\x1b[2J\nnone\n\xff\xfe\n\n\n\n\n\n\n\n\n\nlock \x1b]0;title\a\nlock a bell\n",
	}
}

// TestAsked compares complete dialogues with golden files: the answers, the printed text and the resulting requirements file.
func TestAsked(t *testing.T) {
	for name, in := range dialogues() {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			for _, answer := range strings.SplitAfter(in, "\n") {
				if answer != "" {
					fmt.Fprintf(&said, "> %q\n", strings.TrimSuffix(answer, "\n"))
				}
			}
			said.WriteString("\n")
			answers := said.Len()
			n, err := Ask(t.Context(), strings.NewReader(in), &said, someStores())
			plain(t, said.String()[answers:])
			if err != nil {
				fmt.Fprintf(&said, "\nerror: %v\n", err)
			} else {
				fmt.Fprintf(&said, "\n%s", Write(n))
				checkAgain(t, n)
			}
			golden(t, filepath.Join("testdata", "asked", strings.ReplaceAll(name, " ", "-")+".txt"), said.String())
		})
	}
}

// FuzzAsk checks that Ask returns for any input, prints no control characters, and returns valid requirements or an error.
func FuzzAsk(f *testing.F) {
	for _, in := range dialogues() {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var said bytes.Buffer
		n, err := Ask(t.Context(), strings.NewReader(in), &said, Known{})
		plain(t, said.String())
		if err != nil {
			plain(t, err.Error())
			return
		}
		checkAgain(t, n)
	})
}

// plain checks that a text has no control characters.
func plain(t *testing.T, said string) {
	t.Helper()
	if i := strings.IndexFunc(said, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("control character in %q", said[i:min(i+20, len(said))])
	}
}

// TestQuestions checks the number of questions, their texts, and which three come first. Each requirement must have a
// question, except "commands", which can be set only in the file.
func TestQuestions(t *testing.T) {
	all := questions()
	if len(all) > 12 {
		t.Errorf("%d questions, want at most 12", len(all))
	}
	var first, asked []string
	for i, q := range all {
		if i < 3 {
			first = append(first, q.of)
		}
		for _, path := range q.keys {
			k := keyAt(Table(), path)
			if k.Form != yamlfile.Mapping {
				asked = append(asked, path)
			}
			if k.Form == yamlfile.Mapping {
				for _, of := range k.Of(k.Into) {
					asked = append(asked, path+"."+of.Name)
				}
			}
		}
		if strings.Contains(q.why, "\n") || q.text == "" || q.why == "" || q.more == "" {
			t.Errorf("%s: a text is empty, or the reason is longer than a line", q.of)
		}
	}
	if want := []string{"if_two_hold", "instead", "checks_fence"}; !slices.Equal(first, want) {
		t.Errorf("the first questions are %v, want %v", first, want)
	}
	want := []string{"commands"} // the key "commands" has no question, because it can be set only in the file
	for _, l := range leaves("", Table()) {
		if l.path != "commands" {
			want = append(want, l.path)
		}
	}
	asked = append(asked, "commands")
	slices.Sort(asked)
	slices.Sort(want)
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("-keys +questions:\n%s", diff)
	}
}

func TestAskCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, keptOpen := io.Pipe()
	defer keptOpen.Close()
	cancel()
	if _, err := Ask(ctx, in, io.Discard, Known{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestInputFails(t *testing.T) {
	failed := errors.New("read failed")
	_, err := Ask(t.Context(), iotest.ErrReader(failed), io.Discard, Known{})
	if !errors.Is(err, failed) {
		t.Errorf("got %v, want %v", err, failed)
	}
	_, err = Ask(t.Context(), strings.NewReader(strings.Repeat("x", 1<<17)), io.Discard, Known{})
	want := "question 1 of 12, if_two_hold: the answer is longer than 65536 bytes"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
