package requirements

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"

	"github.com/samber/lo"

	"lockbench/internal/yamlfile"
	"lockbench/reports/selection"
)

const maxTries = 5 // maximum number of invalid answers to one question, so that endless input ends in an error

// Ask asks the user questions and returns the requirements that follow from the answers. Each answer is one line of input.
// Ask prints plain lines, which suit screen readers and pipes.
func Ask(ctx context.Context, in io.Reader, out io.Writer, known Known) (selection.Needs, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all := questions()
	lines := make(chan string)
	d := dialogue{ctx, bufio.NewScanner(in), lines, out, known}
	go d.read(lines)
	d.say("%d questions. An empty line takes the default in brackets, ? explains, and a dash keeps the default of one of several values.\n", len(all))
	a := answers{"if_two_hold": string(selection.Corruption), "name": "our-lock"}
	for i, q := range all {
		place := fmt.Sprintf("question %d of %d, %s", i+1, len(all), q.of)
		var err error
		if a, err = d.ask(place, q, a); err != nil {
			return selection.Needs{}, fmt.Errorf("%s: %w", place, err)
		}
	}
	n, _ := a.toNeeds(known) // the error is always nil, because the method ask accepts only valid answers
	return n, nil
}

type dialogue struct {
	ctx   context.Context
	in    *bufio.Scanner
	lines <-chan string
	out   io.Writer
	known Known
}

// say writes to the terminal. A write error is ignored, because reading the next answer then fails too.
func (d dialogue) say(format string, args ...any) { _, _ = fmt.Fprintf(d.out, format, args...) }

// ask repeats a question until the answer is valid and consistent with the earlier answers. It returns an error after
// maxTries invalid answers.
func (d dialogue) ask(place string, q question, a answers) (answers, error) {
	before, _ := a.toNeeds(d.known)
	d.say("\n%s: %s\nWhy: %s\n", strings.ToUpper(place[:1])+place[1:], q.text, q.why)
	for tries := 0; ; {
		d.say("[%s]\n", strings.TrimSpace(strings.Join(q.words(before, false), " ")))
		text, err := d.next()
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(text) == "?" {
			d.say("%s\n%s", q.more, q.describeValues(d.known))
			continue
		}
		with, why := a.parseAnswer(q, text)
		if why == "" {
			n, wrong := with.toNeeds(d.known)
			if len(wrong) == 0 {
				d.say("Understood: %s.\n", strings.Join(q.words(n, true), ", "))
				return with, nil
			}
			why = strings.Join(wrong, "\n")
		}
		if tries++; tries == maxTries {
			return nil, fmt.Errorf("%s (wrong answer %d of %[2]d)", why, tries)
		}
		d.say("%s\nWant:\n%sAnswer again (try %d of %d), or ? for an explanation.\n", why, q.describeValues(d.known), tries+1, maxTries)
	}
}

// read sends input lines to a channel until ctx is done. A blocked read continues until the process exits.
func (d dialogue) read(lines chan<- string) {
	defer close(lines)
	for d.in.Scan() {
		select {
		case lines <- strings.ToValidUTF8(d.in.Text(), "\uFFFD"):
		case <-d.ctx.Done():
			return
		}
	}
}

func (d dialogue) next() (string, error) {
	select {
	case <-d.ctx.Done():
		return "", d.ctx.Err()
	case text, ok := <-d.lines:
		if ok {
			return text, nil
		}
	}
	switch err := d.in.Err(); {
	case d.ctx.Err() != nil:
		return "", d.ctx.Err()
	case err == nil:
		return "", errors.New("the input ended before all questions were answered")
	case errors.Is(err, bufio.ErrTooLong):
		return "", fmt.Errorf("the answer is longer than %d bytes", bufio.MaxScanTokenSize)
	default:
		return "", fmt.Errorf("read answer: %w", err)
	}
}

// words returns the current values of the requirements that a question sets. If the parameter named is true, the name
// of the requirement precedes each value.
func (q question) words(n selection.Needs, named bool) []string {
	return lo.Map(q.keys, func(path string, _ int) string {
		k := keyAt(keys(&n, Known{}), path)
		word := inSpeech(k)
		switch {
		case named && k.Form == yamlfile.Mapping:
			return k.Name + ": " + word
		case named:
			return k.Name + " " + cmp.Or(word, "none")
		}
		return word
	})
}

func inSpeech(k yamlfile.Key) string {
	switch text := k.Text(); {
	case text == "[]" && k.Normally == "any":
		return "any"
	case text == "[]":
		return "none"
	case k.List:
		return strings.Trim(text, "[]")
	case k.Form == yamlfile.Mapping:
		return strings.Join(lo.Map(k.Of(k.Into), func(of yamlfile.Key, _ int) string { return of.Name + " " + of.Text() }), ", ")
	case k.Form == yamlfile.Flag:
		return map[string]string{"true": "yes", "false": "no"}[text]
	default:
		return text
	}
}

// describeValues describes the valid values of the requirements that a question sets, one line per requirement.
func (q question) describeValues(known Known) string {
	var b strings.Builder
	all := leaves("", keys(new(selection.Needs), known))
	for _, l := range lo.FlatMap(q.keys, func(path string, _ int) []leaf {
		return lo.Filter(all, func(l leaf, _ int) bool { return strings.HasPrefix(l.path+".", path+".") })
	}) {
		want := l.Want()
		switch {
		case len(l.Values) > 0:
			want = strings.Join(l.Values, ", ")
		case l.Form == yamlfile.Flag:
			want = "yes or no"
		}
		fmt.Fprintf(&b, "  %s: %s\n", l.Name, want)
	}
	return b.String()
}

// answers maps the path of a key to its value in YAML.
type answers map[string]string

// toNeeds returns the requirements that follow from the answers, or an error that lists the mistakes.
func (a answers) toNeeds(known Known) (n selection.Needs, wrong []string) {
	lines := lo.FilterMap(Table(), func(k yamlfile.Key, _ int) (string, bool) {
		value, said := a[k.Name]
		if k.Form == yamlfile.Mapping && !said {
			stated := lo.FilterMap(k.Of(k.Into), func(of yamlfile.Key, _ int) (string, bool) {
				v, ok := a[k.Name+"."+of.Name]
				return of.Name + ": " + v, ok
			})
			value, said = "{"+strings.Join(stated, ", ")+"}", len(stated) > 0
		}
		return k.Name + ": " + value + "\n", said
	})
	n, err := Parse("", []byte(strings.Join(lines, "")), known)
	return n, yamlfile.Texts(err)
}

// parseAnswer parses a line of input as the answer to a question. It returns a copy of all answers so far, with the new
// answer added. If the line is invalid, it returns the reason instead. An empty line keeps the default values.
func (a answers) parseAnswer(q question, line string) (answers, string) {
	all := maps.Clone(a)
	lower := strings.ToLower(line)
	switch first := keyAt(Table(), q.keys[0]); {
	case strings.TrimSpace(line) == "":
	case first.List:
		words := strings.FieldsFunc(lower, func(r rune) bool { return strings.ContainsRune(", \t", r) })
		if len(words) == 1 && (words[0] == "none" || words[0] == "any") {
			words = nil
		}
		all[q.keys[0]] = "[" + strings.Join(lo.Map(words, func(word string, _ int) string { return inYAML(word) }), ", ") + "]"
	case first.Form == yamlfile.Mapping:
		words := strings.FieldsFunc(lower, func(r rune) bool { return strings.ContainsRune(",;:= \t", r) })
		if len(words)%2 != 0 {
			return nil, "want pairs of a name and a number, such as goodput 2 recovery 0"
		}
		pairs := lo.Map(lo.Chunk(words, 2), func(pair []string, _ int) string { return inYAML(pair[0]) + ": " + inYAML(pair[1]) })
		all[q.keys[0]] = "{" + strings.Join(pairs, ", ") + "}"
	default:
		return all, all.inOrder(q, line)
	}
	return all, ""
}

// inOrder assigns the words of an input line to the keys of a question, in order. A dash keeps the default. If the last key is
// free text, it takes the rest of the line. If the input is invalid, inOrder returns the reason. Otherwise it returns an empty
// string.
func (a answers) inOrder(q question, line string) string {
	words := strings.Fields(line)
	if last := keyAt(Table(), q.keys[len(q.keys)-1]); last.Form == yamlfile.Text && len(words) >= len(q.keys) {
		words = append(words[:len(q.keys)-1:len(q.keys)-1], strings.Join(words[len(q.keys)-1:], " "))
	}
	if len(words) > len(q.keys) {
		return fmt.Sprintf("got %d values, want at most %d: %s", len(words), len(q.keys), strings.Join(q.keys, ", "))
	}
	for i, word := range words {
		k := keyAt(Table(), q.keys[i])
		if k.Form != yamlfile.Text {
			word = strings.ToLower(word)
		}
		if k.Form == yamlfile.Flag && word != "-" {
			said, ok := map[string]string{"yes": "true", "y": "true", "true": "true", "no": "false", "n": "false", "false": "false"}[word]
			if !ok {
				return fmt.Sprintf("%s: %q is neither yes nor no", k.Name, word)
			}
			word = said
		}
		if word != "-" {
			a[q.keys[i]] = inYAML(word)
		}
	}
	return ""
}

// inYAML returns a word as a YAML value, in quotes if required. Numbers are not quoted.
func inYAML(word string) string {
	if strings.ContainsAny(word, ",[]{}:#\"'\\") || strings.ContainsAny(word[:1], "&*!|>%@`?") || strconv.Quote(word) != `"`+word+`"` {
		return strconv.Quote(word)
	}
	return word
}
