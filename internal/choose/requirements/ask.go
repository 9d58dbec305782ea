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

	"lockbench/internal/yamlfile"
	"lockbench/reports/selection"
)

// maxTries is how many wrong answers a question takes. A program at the other end would give them for ever.
const maxTries = 5

// Ask asks for needs, a line for each question. Whoever cannot answer them is to be told of files. It writes plain lines and moves no cursor, so that it can be read aloud, and
// answered by a pipe.
func Ask(ctx context.Context, in io.Reader, out io.Writer, known Known) (selection.Needs, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all := questions()
	lines := make(chan string)
	d := dialogue{ctx, bufio.NewScanner(in), lines, out, known}
	go d.read(lines)
	d.say("%d questions. An empty line takes what stands in brackets, ? tells more, a dash skips one of several values.\n", len(all))
	a := answers{"if_two_hold": string(selection.Corruption), "name": "our-lock"}
	for i, q := range all {
		place := fmt.Sprintf("question %d of %d, %s", i+1, len(all), q.of)
		var err error
		if a, err = d.ask(place, q, a); err != nil {
			return selection.Needs{}, fmt.Errorf("%s: %w", place, err)
		}
	}
	n, wrong := a.needs(known)
	if len(wrong) > 0 {
		return selection.Needs{}, errors.New(wrong[0])
	}
	return n, nil
}

// dialogue is a terminal, or what stands in for one.
type dialogue struct {
	ctx   context.Context
	in    *bufio.Scanner
	lines <-chan string
	out   io.Writer
	known Known
}

// say writes. Who does not get to read a question will not answer it, which is noticed.
func (d dialogue) say(format string, args ...any) { _, _ = fmt.Fprintf(d.out, format, args...) }

// ask asks until there is an answer that makes sense with those before.
func (d dialogue) ask(place string, q question, a answers) (answers, error) {
	before, wrong := a.needs(d.known)
	if len(wrong) > 0 {
		return nil, errors.New(wrong[0])
	}
	d.say("\n%s: %s\nWhy: %s\n", strings.ToUpper(place[:1])+place[1:], q.text, q.why)
	for tries := 0; ; {
		d.say("[%s]\n", strings.TrimSpace(strings.Join(q.words(before, false), " ")))
		text, err := d.next()
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(text) == "?" {
			d.say("%s\n%s", q.more, q.wants(d.known))
			continue
		}
		with, why := a.with(q, text)
		if why == "" {
			n, wrong := with.needs(d.known)
			if len(wrong) == 0 {
				d.say("Understood: %s.\n", strings.Join(q.words(n, true), ", "))
				return with, nil
			}
			why = strings.Join(wrong, "\n")
		}
		if tries++; tries == maxTries {
			return nil, fmt.Errorf("%s (that was the wrong answer number %d, and the last)", why, tries)
		}
		next := [maxTries]string{"first", "second", "third", "fourth", "last"}[tries]
		d.say("%s\nWanted:\n%sPlease answer again, for the %s time of %d, or ? for more.\n", why, q.wants(d.known), next, maxTries)
	}
}

// read sends lines until ctx is done. A read that nobody answers cannot be called off, and ends with the process.
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
		return "", errors.New("the input ends before all questions are answered")
	case errors.Is(err, bufio.ErrTooLong):
		return "", fmt.Errorf("the answer is longer than %d bytes", bufio.MaxScanTokenSize)
	default:
		return "", fmt.Errorf("the answer cannot be read: %w", err)
	}
}

// words are the values of a question's keys, each with its name where it is asked for.
func (q question) words(n selection.Needs, named bool) []string {
	var all []string
	for _, path := range q.keys {
		k := keyAt(keys(&n, Known{}), path)
		word := inSpeech(k)
		if named && k.Form == yamlfile.Mapping {
			word = k.Name + ": " + word
		} else if named {
			word = k.Name + " " + cmp.Or(word, "none")
		}
		all = append(all, word)
	}
	return all
}

// inSpeech returns the value of a key as it would be answered.
func inSpeech(k yamlfile.Key) string {
	switch text := k.Text(); {
	case text == "[]" && k.Normally == "any":
		return "any"
	case text == "[]":
		return "none"
	case k.List:
		return strings.Trim(text, "[]")
	case k.Form == yamlfile.Mapping:
		var pairs []string
		for _, of := range k.Of(k.Into) {
			pairs = append(pairs, of.Name+" "+of.Text())
		}
		return strings.Join(pairs, ", ")
	case k.Form == yamlfile.Flag:
		return map[string]string{"true": "yes", "false": "no"}[text]
	default:
		return text
	}
}

// wants is what may be answered, a line for each value.
func (q question) wants(known Known) string {
	var b strings.Builder
	all := leaves("", keys(new(selection.Needs), known))
	for _, path := range q.keys {
		for _, l := range all {
			if l.path != path && !strings.HasPrefix(l.path, path+".") {
				continue
			}
			want := l.Want()
			switch {
			case len(l.Values) > 0:
				want = strings.Join(l.Values, ", ")
			case l.Form == yamlfile.Flag:
				want = "yes or no"
			}
			fmt.Fprintf(&b, "  %s: %s\n", l.Name, want)
		}
	}
	return b.String()
}

// answers are values in YAML, by the path of their need.
type answers map[string]string

// needs returns what the answers come to, or all that is wrong with them.
func (a answers) needs(known Known) (n selection.Needs, wrong []string) {
	var b strings.Builder
	for _, k := range Table() {
		value, said := a[k.Name]
		if k.Form == yamlfile.Mapping && !said {
			var stated []string
			for _, of := range k.Of(k.Into) {
				if v, ok := a[k.Name+"."+of.Name]; ok {
					stated = append(stated, of.Name+": "+v)
				}
			}
			value, said = "{"+strings.Join(stated, ", ")+"}", len(stated) > 0
		}
		if said {
			b.WriteString(k.Name + ": " + value + "\n")
		}
	}
	n, err := Parse("", []byte(b.String()), known)
	return n, yamlfile.Texts(err)
}

// with returns what is known once a line has answered a question, or why it does not. An empty line takes every default.
func (a answers) with(q question, line string) (answers, string) {
	all := maps.Clone(a)
	lower := strings.ToLower(line)
	switch first := keyAt(Table(), q.keys[0]); {
	case strings.TrimSpace(line) == "":
	case first.List:
		words := strings.FieldsFunc(lower, func(r rune) bool { return strings.ContainsRune(", \t", r) })
		if len(words) == 1 && (words[0] == "none" || words[0] == "any") {
			words = nil
		}
		for i, word := range words {
			words[i] = inYAML(word)
		}
		all[q.keys[0]] = "[" + strings.Join(words, ", ") + "]"
	case first.Form == yamlfile.Mapping:
		words := strings.FieldsFunc(lower, func(r rune) bool { return strings.ContainsRune(",;:= \t", r) })
		if len(words)%2 != 0 {
			return nil, "these are no pairs (want a name and a number, and the next, such as goodput 2 recovery 0)"
		}
		var pairs []string
		for i := 0; i < len(words); i += 2 {
			pairs = append(pairs, inYAML(words[i])+": "+inYAML(words[i+1]))
		}
		all[q.keys[0]] = "{" + strings.Join(pairs, ", ") + "}"
	default:
		return all, all.inOrder(q, line)
	}
	return all, ""
}

// inOrder takes the words of a line as the values of a question's keys. A dash leaves one at its default, and a text at the end
// takes all that is left.
func (a answers) inOrder(q question, line string) string {
	words := strings.Fields(line)
	if last := keyAt(Table(), q.keys[len(q.keys)-1]); last.Form == yamlfile.Text && len(words) >= len(q.keys) {
		words = append(words[:len(q.keys)-1:len(q.keys)-1], strings.Join(words[len(q.keys)-1:], " "))
	}
	if len(words) > len(q.keys) {
		return fmt.Sprintf("these are %d values, and there is room for %d: %s", len(words), len(q.keys), strings.Join(q.keys, ", "))
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

// inYAML returns a word as it has to stand in YAML, where a number stays one.
func inYAML(word string) string {
	if strings.ContainsAny(word, ",[]{}:#\"'\\") || strings.ContainsAny(word[:1], "&*!|>%@`?") || strconv.Quote(word) != `"`+word+`"` {
		return strconv.Quote(word)
	}
	return word
}
