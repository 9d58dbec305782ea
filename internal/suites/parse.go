package suites

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"lockbench/reports/benchmark"
)

// Parse reads a suite. The error has a line for each mistake, with the place where it stands.
func Parse(file string, whole []byte, known Known) (*Suite, error) {
	r := &reader{file: file, known: known}
	root, err := r.document(whole)
	if err != nil {
		return nil, err
	}
	r.mapping(root, suiteKeys(known))
	if err := r.err(); err != nil {
		return nil, err
	}
	var w written
	if err := root.Decode(&w); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	s := Suite(w.Suite).Filled()
	s.Doc = strings.Join(strings.Fields(s.Doc), " ")
	r.sense(root, &s, w.Thresholds)
	if err := r.err(); err != nil {
		return nil, err
	}
	s.Thresholds = thresholds(w.Thresholds)
	return &s, nil
}

// A longer file is no suite, and a mistake in it would take long to find.
const (
	maxBytes = 64 << 10
	maxLines = 1000
)

// document is the mapping that the file consists of.
func (r *reader) document(whole []byte) (*yaml.Node, error) {
	if lines := bytes.Count(whole, []byte("\n")); len(whole) > maxBytes || lines > maxLines {
		return nil, fmt.Errorf("%s:1:1: the file has %d lines and %d bytes (want at most %d and %d)", r.file, lines, len(whole), maxLines, maxBytes)
	}
	in := yaml.NewDecoder(bytes.NewReader(whole))
	var doc, next yaml.Node
	err := in.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s:1:1: the file is empty (want the keys of a suite, such as name and sections)", r.file)
	}
	if err != nil {
		return nil, r.broken(whole, err)
	}
	switch err := in.Decode(&next); {
	case errors.Is(err, io.EOF):
		return doc.Content[0], nil
	case err != nil:
		return nil, r.broken(whole, err)
	}
	return nil, fmt.Errorf("%s:%d:%d: another document begins here (want one suite in a file)", r.file, next.Line, next.Column)
}

// written is a suite as it stands in a file.
type written struct {
	Suite      plain   `yaml:",inline"`
	Thresholds []limit `yaml:"thresholds,omitempty"`
}

// plain has no methods: written is not to be marshalled as a suite is.
type plain Suite

// limit is a threshold as it stands in a file: several at once, where it is of several numbers of clients or subjects.
type limit struct {
	Lock       string   `yaml:"lock"`
	Section    string   `yaml:"section,omitempty"`
	Clients    []int    `yaml:"clients,omitempty"`
	Metric     string   `yaml:"metric"`
	Min        *float64 `yaml:"min,omitempty"`
	Max        *float64 `yaml:"max,omitempty"`
	To         []string `yaml:"ratio_to,omitempty"`
	ToBaseline bool     `yaml:"ratio_to_baseline,omitempty"`
}

// thresholds are limits one by one.
func thresholds(limits []limit) []benchmark.Threshold {
	var all []benchmark.Threshold
	for _, l := range limits {
		for _, clients := range orZero(l.Clients) {
			for _, to := range orZero(l.To) {
				all = append(all, benchmark.Threshold{Subject: l.Lock, Section: l.Section, Clients: clients, Metric: l.Metric,
					Min: l.Min, Max: l.Max, To: to, ToBaseline: l.ToBaseline})
			}
		}
	}
	return all
}

// orZero is the list, or where it is empty one zero, which is read as any.
func orZero[T any](list []T) []T {
	if len(list) == 0 {
		return make([]T, 1)
	}
	return list
}

// MarshalYAML writes a suite with its defaults spelt out.
func (s Suite) MarshalYAML() (any, error) {
	w := written{Suite: plain(s)}
	for _, t := range s.Thresholds {
		l := limit{Lock: t.Subject, Section: t.Section, Metric: t.Metric, Min: t.Min, Max: t.Max, ToBaseline: t.ToBaseline}
		if t.Clients > 0 {
			l.Clients = []int{t.Clients}
		}
		if t.To != "" {
			l.To = []string{t.To}
		}
		w.Thresholds = append(w.Thresholds, l)
	}
	return w, nil
}

// lockMapping is a lock that is more than a name.
type lockMapping struct {
	Name   string            `yaml:"name"`
	As     string            `yaml:"as,omitempty"`
	Params map[string]string `yaml:"params,omitempty"`
}

// UnmarshalYAML reads a name, name@deployment, or a mapping.
func (l *Lock) UnmarshalYAML(n *yaml.Node) error {
	m := lockMapping{Name: n.Value}
	if n.Kind == yaml.MappingNode {
		if err := n.Decode(&m); err != nil {
			return err
		}
	}
	l.Name, l.Deployment, _ = strings.Cut(m.Name, "@")
	l.As, l.Params = m.As, m.Params
	return nil
}

// MarshalYAML writes it as short as it can be.
func (l Lock) MarshalYAML() (any, error) {
	if l.As == "" && len(l.Params) == 0 {
		return l.place(), nil
	}
	return lockMapping{l.place(), l.As, l.Params}, nil
}

// UnmarshalYAML reads a number, or the word for one each.
func (k *Keys) UnmarshalYAML(n *yaml.Node) error {
	if n.Value == "clients" {
		*k = OneEach
		return nil
	}
	return n.Decode((*int)(k))
}

// MarshalYAML writes a number, or the word for one each.
func (k Keys) MarshalYAML() (any, error) {
	if k == OneEach {
		return "clients", nil
	}
	return int(k), nil
}
