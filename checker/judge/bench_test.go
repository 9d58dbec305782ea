package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"lockbench/checker/oracle"
	"lockbench/histories"
)

// block returns a history with the given number of operations, by 16 clients on 4 keys. The leases never expire.
func block(operations int) ([]histories.Line, histories.Header) {
	m := &mutex{r: rand.New(rand.NewPCG(1, 1)), keys: []string{"a", "b", "c", "d"}, clients: 16, grants: operations / 2, ttl: time.Second}
	return marked(m.run(), m.clients, 10_000), m.header()
}

// repeated returns a function that reads one long history line by line. The history repeats the given lines, with later
// times in each repetition.
func repeated(lines []histories.Line, times int) func() (histories.Line, error) {
	last := lines[len(lines)-1]
	long := max(last.At, last.Op.Return) + 10
	holds := int64(len(lines))
	i, shift := 0, 0
	return func() (histories.Line, error) {
		if i == len(lines) {
			i, shift = 0, shift+1
		}
		if shift == times {
			return histories.Line{}, io.EOF
		}
		l, by := lines[i], time.Duration(shift)*long
		i++
		l.At += by
		l.Op.Call, l.Op.Hold = l.Op.Call+by, l.Op.Hold+int64(shift)*holds
		if l.Op.Return >= 0 {
			l.Op.Return += by
		}
		return l, nil
	}
}

// peak samples the heap size while a history is judged. The goal is 300 MB for a history of any length.
type peak struct {
	n            int
	before, most uint64
}

func (p *peak) look(next func() (histories.Line, error)) func() (histories.Line, error) {
	p.before = heap()
	return func() (histories.Line, error) {
		if p.n++; p.n%500_000 == 0 {
			p.most = max(p.most, heap())
		}
		return next()
	}
}

func (p *peak) report(b *testing.B, operations int) {
	b.ReportMetric(max(0, float64(p.most)-float64(p.before))/1e6, "MB-live")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(operations)*1e6, "s/1e6-ops")
}

// BenchmarkMonitor judges a history without the check by Porcupine. The goal is 0.6 s for 1,000,000 operations.
func BenchmarkMonitor(b *testing.B) {
	lines, h := block(1_000_000)
	p := peak{}
	p.look(nil)
	for b.Loop() {
		j := newJudge(h, Options{})
		j.oracle = oracle.New(false, 0) // Porcupine has no property to check
		if _, err := histories.Replay(repeated(lines, 1), j.visit); err != nil || j.Counts.Grants != 500_000 {
			b.Fatal(err, j.Counts)
		}
		p.most = max(p.most, heap())
	}
	p.report(b, 1_000_000)
}

// BenchmarkJudge judges a history in memory. Porcupine checks either a sample of the history or all of it.
func BenchmarkJudge(b *testing.B) {
	lines, h := block(1_000_000)
	for _, c := range []struct {
		millions int
		full     bool
	}{{1, false}, {10, false}, {1, true}} {
		b.Run(fmt.Sprintf("%de6/full=%t", c.millions, c.full), func(b *testing.B) {
			var p peak
			for b.Loop() {
				v, err := History(h, p.look(repeated(lines, c.millions)), Options{FullOracle: c.full})
				if err != nil || len(v.Oracle.Disagreements) > 0 || v.Oracle.Undecided > 0 || v.Counts.Grants != c.millions*500_000 {
					b.Fatal(err, v.Oracle, v.Counts)
				}
			}
			p.report(b, c.millions*1_000_000)
		})
	}
}

// BenchmarkFile reads and judges 1,000,000 operations from a compressed file. The goal is 4 s.
func BenchmarkFile(b *testing.B) {
	lines, h := block(1_000_000)
	path := filepath.Join(b.TempDir(), "history.jsonl.zst")
	if err := os.WriteFile(path, compressed(b, lines, h), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if v, _, err := File(path, Options{}); err != nil || v.Counts.Grants != 500_000 {
			b.Fatal(err)
		}
	}
}

func compressed(b *testing.B, lines []histories.Line, h histories.Header) []byte {
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out)
	if err != nil {
		b.Fatal(err)
	}
	text, err := json.Marshal(h)
	for i := 0; i < len(lines) && err == nil; i++ {
		if _, err = z.Write(append(text, '\n')); err != nil {
			break
		}
		if text = histories.AppendOp(text[:0], &lines[i].Op); lines[i].Mark {
			text = fmt.Appendf(text[:0], `{"mark":%d}`, lines[i].At)
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	if _, err = z.Write(append(text, '\n')); err != nil || z.Close() != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
