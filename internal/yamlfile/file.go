package yamlfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// MaxWrong is how many mistakes are told at once.
const MaxWrong = 10

// File is what was read, and what is wrong in it.
type File struct {
	Root *Node // the mapping that it consists of
	mistakes
}

// Read reads a file of a kind (a noun, for errors) against its keys.
func Read(name, kind string, whole []byte, keys []Key) (*File, error) {
	root, err := document(name, kind, whole, keys)
	if err != nil {
		return nil, err
	}
	f := Check(root, keys)
	f.name, f.whole = name, whole
	return f, f.Err()
}

// Check checks a mapping that is there already.
func Check(root *Node, keys []Key) *File {
	f := &File{Root: root}
	f.mapping(root, keys)
	return f
}

// Stated reports whether something stands at a path.
func (f *File) Stated(path string) bool {
	_, found := f.Root.At(path)
	return found
}

// Wrong tells a mistake at a path, as far as there is one.
func (f *File) Wrong(path, format string, args ...any) {
	at, _ := f.Root.At(path)
	f.wrong(at, format, args...)
}

func (f *File) wrong(at *Node, format string, args ...any) {
	f.all = append(f.all, mistake{at.Line, at.Column, fmt.Sprintf(format, args...)})
}

// Err returns all that is wrong; nil if nothing is.
func (f *File) Err() error {
	if len(f.all) == 0 {
		return nil
	}
	slices.SortStableFunc(f.all, func(a, b mistake) int { return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column)) })
	return f.mistakes
}

// Texts returns the mistakes that an error of this package lists, without their places: for what stands in no file.
func Texts(err error) []string {
	var m mistakes
	if !errors.As(err, &m) {
		return nil
	}
	var all []string
	for _, one := range m.all {
		all = append(all, one.text)
	}
	return all
}

// mistakes is an error with a line for each mistake, in the order of the file, and the line of the file below it.
type mistakes struct {
	name  string
	whole []byte
	all   []mistake
}

type mistake struct {
	line, column int
	text         string
}

func (m mistakes) Error() string {
	var b strings.Builder
	lines := strings.Split(string(m.whole), "\n")
	for _, one := range m.all[:min(MaxWrong, len(m.all))] {
		fmt.Fprintf(&b, "%s:%d:%d: %s\n", m.name, one.line, one.column, one.text)
		if one.line <= len(lines) {
			b.WriteString(excerpt(lines[one.line-1], one.column))
		}
	}
	if more := len(m.all) - MaxWrong; more > 0 {
		fmt.Fprintf(&b, "%s: and %d more\n", m.name, more)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// excerpt returns a line and a mark below one of its columns, as a terminal may see them; nothing of a long line.
func excerpt(line string, column int) string {
	const longest = 120
	line = printable(line)
	if strings.TrimSpace(line) == "" || len(line) > longest || column > longest {
		return ""
	}
	return fmt.Sprintf("    %s\n    %s^\n", strings.TrimRight(line, " "), strings.Repeat(" ", column-1))
}

// printable has a blank in the place of each sign that could do something to a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}
