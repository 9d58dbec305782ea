package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"lockbench/checker"
	"lockbench/impls/catalog"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/scenarios"
	"lockbench/internal/measure/suites"
	"lockbench/workloads"
)

// listed is one name of the vocabulary.
type listed struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

// tables are what can be listed.
func tables() []string {
	return []string{"locks", "workloads", "faults", "properties", "scenarios", "suites"}
}

func table(name string) []listed {
	var out []listed
	add := func(n, doc string) { out = append(out, listed{name, n, doc}) }
	switch name {
	case "locks":
		for _, l := range catalog.All() {
			doc := l.Doc
			if l.Peer {
				doc = "peer: " + doc
			}
			add(l.Name, doc)
		}
	case "workloads":
		for _, w := range workloads.All() {
			add(w.Name, w.Doc)
		}
	case "faults":
		for _, f := range faults.All() {
			add(f.Name, f.Doc)
		}
	case "properties":
		for _, p := range checker.Properties() {
			add(p.Name, p.Doc)
		}
	case "scenarios":
		for _, s := range scenarios.All() {
			add(s.Name, s.Doc)
		}
	case "suites":
		for _, s := range suites.Shipped() {
			add(s.Name, s.Doc)
		}
	}
	return out
}

func listCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [locks|workloads|faults|properties|scenarios|suites]",
		Short: "Say what locks, workloads, faults, properties, scenarios and suites there are",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := choose("table", tables(), func(t string) string { return t }, args)
			if err != nil {
				return err
			}
			return printTables(cmd.OutOrStdout(), chosen, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array of objects with kind, name and doc")
	return cmd
}

func printTables(w io.Writer, names []string, asJSON bool) error {
	if asJSON {
		all := []listed{}
		for _, name := range names {
			all = append(all, table(name)...)
		}
		return printJSON(w, all)
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, name := range names {
		if i > 0 {
			fmt.Fprintln(tw)
		}
		fmt.Fprintf(tw, "%s\n", name)
		if name == "scenarios" { // a paragraph each
			printScenarios(tw)
			continue
		}
		for _, l := range table(name) {
			fmt.Fprintf(tw, "  %s\t%s\n", l.Name, l.Doc)
		}
	}
	return tw.Flush()
}

// printScenarios prints what each warns of, and what happens.
func printScenarios(w io.Writer) {
	for _, s := range scenarios.All() {
		fmt.Fprintf(w, "  %s: %s\n", s.Name, s.Warning)
		for _, line := range broken(s.Doc, 100) {
			fmt.Fprintf(w, "      %s\n", line)
		}
	}
}

// broken is a text in lines that are no longer than so many letters.
func broken(text string, width int) []string {
	var lines []string
	for _, word := range strings.Fields(text) {
		if n := len(lines); n > 0 && utf8.RuneCountInString(lines[n-1])+1+utf8.RuneCountInString(word) <= width {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
