package suites

import (
	"embed"
	"fmt"
)

//go:embed shipped/*.yaml
var files embed.FS

// shippedNames are the suites that come with lockbench, from the shortest to the longest.
func shippedNames() []string { return []string{"quick", "stores", "contention", "standard"} }

// Shipped are the suites that come with lockbench.
func Shipped() []Suite {
	var all []Suite
	for _, name := range shippedNames() {
		whole, _ := Source(name)
		s, err := Parse(name+".yaml", whole, Known{})
		if err != nil {
			panic(fmt.Sprintf("a suite of ours does not read, which no test can have passed: %v", err))
		}
		all = append(all, *s)
	}
	return all
}

// Source is the file of a shipped suite, to read it against what is known, or to begin one's own from.
func Source(name string) ([]byte, bool) {
	whole, err := files.ReadFile("shipped/" + name + ".yaml")
	return whole, err == nil
}
