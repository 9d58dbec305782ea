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

	"lockbench/internal/suggest"
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

// meant is a hint at the nearest of the names that are known.
func meant(name string, known []string) string {
	if near, ok := suggest.Nearest(name, known); ok {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}
