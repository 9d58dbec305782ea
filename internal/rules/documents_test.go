package rules

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Limits on the length of README.md.
const (
	maxReadmeLines = 200
	maxReadmeBytes = 14 << 10
)

// documents returns the Markdown files in the module's root folder and in docs.
func documents(t *testing.T) []string {
	t.Helper()
	files := []string{"../../README.md", "../../CHANGELOG.md"}
	err := filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noWord  = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
)

// TestLinks checks that every relative link in a document leads to a file, and to a heading if the link has a fragment.
func TestLinks(t *testing.T) {
	links := 0
	for _, file := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, file), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			path, anchor, _ := strings.Cut(m[1], "#")
			target := file
			if path != "" {
				target = filepath.Join(filepath.Dir(file), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links %s: there is no such file", file, m[1])
			} else if anchor != "" && !hasHeading(read(t, target), anchor) {
				t.Errorf("%s links %s: there is no such heading", file, m[1])
			}
		}
	}
	if links < 50 {
		t.Errorf("%d links were found: this test is wrong", links)
	}
}

// hasHeading reports whether a Markdown text has a heading with a certain anchor.
func hasHeading(text, anchor string) bool {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		words := noWord.ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(words, " ", "-") == anchor {
			return true
		}
	}
	return false
}

var testCommand = regexp.MustCompile("go test (\\./[\\w/]+) [^`]*?-run '?([A-Za-z]+)")

// TestNamedTestsExist checks that every test that a document names exists.
func TestNamedTestsExist(t *testing.T) {
	named := 0
	for _, file := range documents(t) {
		for _, m := range testCommand.FindAllStringSubmatch(read(t, file), -1) {
			if m[2] == "xxx" { // runs no test, but benchmarks
				continue
			}
			named++
			files, err := filepath.Glob(filepath.Join("../..", m[1], "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			of := regexp.MustCompile(`(?m)^func \w*` + m[2])
			if !slices.ContainsFunc(files, func(test string) bool { return of.MatchString(read(t, test)) }) {
				t.Errorf("%s names %s -run %s: there is no such test", file, m[1], m[2])
			}
		}
	}
	if named < 10 {
		t.Errorf("%d tests are named: this test is wrong", named)
	}
}

// TestReadmeIsShort checks the length of README.md.
func TestReadmeIsShort(t *testing.T) {
	text := []byte(read(t, "../../README.md"))
	if lines := bytes.Count(text, []byte("\n")); lines > maxReadmeLines || len(text) > maxReadmeBytes {
		t.Errorf("README.md has %d lines and %d bytes: at most %d and %d", lines, len(text), maxReadmeLines, maxReadmeBytes)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
