package keyed

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

// MaxWrong is how many mistakes are told at once.
const MaxWrong = 10

// Texts are all that is wrong, without the places: for what stands in no file.
func (f *File) Texts() []string {
	var all []string
	for _, w := range f.wrongs {
		all = append(all, w.text)
	}
	return all
}

// wrong is a mistake and where it stands.
type wrong struct {
	line, column int
	text         string
}

// Wrong tells a mistake, at the place of a node.
func (f *File) Wrong(at *yaml.Node, format string, args ...any) {
	f.wrongs = append(f.wrongs, wrong{at.Line, at.Column, fmt.Sprintf(format, args...)})
}

// Err is all that is wrong, a line for each, in the order of the file; nil where nothing is.
func (f *File) Err() error {
	if len(f.wrongs) == 0 {
		return nil
	}
	slices.SortStableFunc(f.wrongs, func(a, b wrong) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	var lines []string
	for _, w := range f.wrongs[:min(MaxWrong, len(f.wrongs))] {
		lines = append(lines, fmt.Sprintf("%s:%d:%d: %s", f.name, w.line, w.column, w.text))
	}
	if more := len(f.wrongs) - MaxWrong; more > 0 {
		lines = append(lines, fmt.Sprintf("%s: and %d more", f.name, more))
	}
	return errors.New(strings.Join(lines, "\n"))
}

var yamlError = regexp.MustCompile(`^yaml: (?:line \d+: )?`)

// broken is the error of what is no YAML at all. The library often names the line in which something began that went
// wrong much later; here it is the line before which all is well.
func broken(name string, whole []byte, err error) error {
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
	return fmt.Errorf("%s:%d:%d: this is no YAML: %s", name, good+1, column, yamlError.ReplaceAllString(err.Error(), ""))
}

func wellFormed(text []byte) bool {
	in := yaml.NewDecoder(bytes.NewReader(text))
	for {
		if err := in.Decode(new(yaml.Node)); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}
