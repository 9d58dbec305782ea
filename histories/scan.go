package histories

import (
	"errors"
	"fmt"
)

// scanObject walks a flat JSON object: strings and whole numbers, no nesting. It calls visit with each
// name (without quotes) and the text of its value. Lines of histories are nothing else, and a general
// decoder takes ten times as long.
func scanObject(text []byte, visit func(name, value []byte) error) error {
	s := scanner{text: text}
	if !s.take('{') {
		return errors.New("want a JSON object on one line")
	}
	for first := true; ; first = false {
		if s.take('}') {
			break
		}
		if !first && !s.take(',') {
			return s.wanted("a comma")
		}
		name, ok := s.str()
		if !ok {
			return s.wanted("a field name in quotes")
		}
		if !s.take(':') {
			return s.wanted("a colon")
		}
		value, ok := s.str()
		if !ok {
			value, ok = s.number()
		}
		if !ok {
			return s.wanted("a string or a whole number")
		}
		if err := visit(name[1:len(name)-1], value); err != nil {
			return err
		}
	}
	if s.space(); s.at != len(s.text) {
		return s.wanted("the end of the line")
	}
	return nil
}

type scanner struct {
	text []byte
	at   int
}

func (s *scanner) wanted(what string) error {
	return fmt.Errorf("want %s at column %d", what, s.at+1)
}

func (s *scanner) space() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t') {
		s.at++
	}
}

func (s *scanner) take(c byte) bool {
	s.space()
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) str() ([]byte, bool) {
	s.space()
	start := s.at
	if start >= len(s.text) || s.text[start] != '"' {
		return nil, false
	}
	for i := start + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '\\':
			i++
		case c == '"':
			s.at = i + 1
			return s.text[start:s.at], true
		case c < ' ':
			return nil, false
		}
	}
	return nil, false
}

func (s *scanner) number() ([]byte, bool) {
	s.space()
	start := s.at
	if s.at < len(s.text) && s.text[s.at] == '-' {
		s.at++
	}
	digits := s.at
	for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
		s.at++
	}
	return s.text[start:s.at], s.at > digits
}
