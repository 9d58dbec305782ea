package suites

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxWrong is how many mistakes are told at once.
const maxWrong = 10

// wrong is a mistake and where it stands.
type wrong struct {
	line, column int
	text         string
}

// reader gathers the mistakes of a file.
type reader struct {
	file   string
	known  Known
	wrongs []wrong
}

func (r *reader) wrong(at *yaml.Node, format string, args ...any) {
	r.wrongs = append(r.wrongs, wrong{at.Line, at.Column, fmt.Sprintf(format, args...)})
}

// err is all that is wrong, a line for each, in the order of the file; nil where nothing is.
func (r *reader) err() error {
	if len(r.wrongs) == 0 {
		return nil
	}
	slices.SortStableFunc(r.wrongs, func(a, b wrong) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	var lines []string
	for _, w := range r.wrongs[:min(maxWrong, len(r.wrongs))] {
		lines = append(lines, fmt.Sprintf("%s:%d:%d: %s", r.file, w.line, w.column, w.text))
	}
	if more := len(r.wrongs) - maxWrong; more > 0 {
		lines = append(lines, fmt.Sprintf("%s: and %d more", r.file, more))
	}
	return errors.New(strings.Join(lines, "\n"))
}

var yamlError = regexp.MustCompile(`^yaml: (?:line \d+: )?`)

// broken is the error of what is no YAML at all. The library often names the line in which something began that went
// wrong much later; here it is the line before which all is well.
func (r *reader) broken(whole []byte, err error) error {
	lines := bytes.SplitAfter(whole, []byte("\n"))
	good := 0
	for i, end := 0, 0; i < len(lines); i++ {
		end += len(lines[i])
		if wellFormed(whole[:end]) {
			good = i + 1
		}
	}
	at := lines[min(good, len(lines)-1)]
	column := 1 + len(at) - len(bytes.TrimLeft(at, " \t"))
	return fmt.Errorf("%s:%d:%d: this is no YAML: %s", r.file, good+1, column, yamlError.ReplaceAllString(err.Error(), ""))
}

func wellFormed(text []byte) bool {
	in := yaml.NewDecoder(bytes.NewReader(text))
	for {
		if err := in.Decode(new(yaml.Node)); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// meant is a hint at the known name with the fewest edits, if they are few for its length.
func meant(name string, known []string) string {
	const long = 80 // no name is, and the work grows with it
	if len(name) > long {
		return ""
	}
	best, least := "", 1+len(name)/2
	for _, k := range known {
		if d := edits(name, k); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// edits is the Levenshtein distance.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
