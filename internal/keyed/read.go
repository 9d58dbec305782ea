package keyed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A longer file is written by nobody, and a mistake in it would take long to find.
const (
	MaxBytes = 64 << 10
	MaxLines = 1000
)

// File is what was read, and what is wrong in it.
type File struct {
	Root   *yaml.Node // the mapping that it consists of
	name   string
	wrongs []wrong
}

// Read reads a file of a kind (a noun, for errors) against its keys. The error has a line for each mistake.
func Read(name, kind string, whole []byte, keys []Key) (*File, error) {
	root, err := document(name, kind, whole, keys)
	if err != nil {
		return nil, err
	}
	f := Check(name, root, keys)
	return f, f.Err()
}

// Check checks a mapping that is there already, and writes its values in one way.
func Check(name string, root *yaml.Node, keys []Key) *File {
	f := &File{Root: root, name: name}
	f.mapping(root, keys)
	return f
}

// document is the mapping that the file consists of.
func document(name, kind string, whole []byte, keys []Key) (*yaml.Node, error) {
	if lines := bytes.Count(whole, []byte("\n")); len(whole) > MaxBytes || lines > MaxLines {
		return nil, fmt.Errorf("%s:1:1: the file has %d lines and %d bytes (want at most %d and %d)", name, lines, len(whole), MaxLines, MaxBytes)
	}
	in := yaml.NewDecoder(bytes.NewReader(whole))
	var doc, next yaml.Node
	err := in.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s:1:1: the file is empty (want the keys of a %s, such as %s)", name, kind, strings.Join(required(keys), " and "))
	}
	if err != nil {
		return nil, broken(name, whole, err)
	}
	switch err := in.Decode(&next); {
	case errors.Is(err, io.EOF):
		return doc.Content[0], nil
	case err != nil:
		return nil, broken(name, whole, err)
	}
	return nil, fmt.Errorf("%s:%d:%d: another document begins here (want one %s in a file)", name, next.Line, next.Column, kind)
}

func required(keys []Key) []string {
	names := []string{}
	for _, k := range keys {
		if k.Required {
			names = append(names, k.Name)
		}
	}
	return names
}

// Find is the node that a path of keys and places leads to, as far as there is one, and whether that is all the way.
func Find(n *yaml.Node, path ...string) (*yaml.Node, bool) {
	for _, step := range path {
		next := child(n, step)
		if i, err := strconv.Atoi(step); err == nil && n.Kind == yaml.SequenceNode && i < len(n.Content) {
			next = n.Content[i]
		}
		if next == nil {
			return n, false
		}
		n = next
	}
	return n, true
}

// At is the node that a path leads to, as far as there is one: where to say that something is wrong.
func At(n *yaml.Node, path ...string) *yaml.Node {
	n, _ = Find(n, path...)
	return n
}

// child is the value of a mapping's key; nil where it has none.
func child(n *yaml.Node, name string) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}
