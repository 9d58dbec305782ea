package cli

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/scenarios"
	"lockbench/reports/format"
)

type listed struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

type table struct {
	name string
	each func(func(name, doc string))
}

func tables() []table {
	return []table{{"locks", choice.Locks.Each}, {"workloads", choice.Workloads.Each}, {"faults", choice.Faults.Each}, {"properties", choice.Properties.Each},
		{"scenarios", choice.Scenarios.Each}, {"suites", choice.Suites.Each}}
}

func listCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [locks|workloads|faults|properties|scenarios|suites]",
		Short: "List locks, workloads, faults, properties, scenarios and suites",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := choice.Table[table]{What: "table", All: tables, Describe: func(t table) (string, string) { return t.name, "" }}.Choose(args...)
			if err != nil {
				return err
			}
			return printTables(cmd.OutOrStdout(), chosen, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array of objects with kind, name and doc")
	return cmd
}

func printTables(w io.Writer, tables []table, asJSON bool) error {
	if asJSON {
		all := []listed{}
		for _, t := range tables {
			t.each(func(name, doc string) { all = append(all, listed{t.name, name, doc}) })
		}
		return console.JSON(w, all)
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, t := range tables {
		if i > 0 {
			fmt.Fprintln(tw)
		}
		fmt.Fprintln(tw, t.name)
		if t.name == "scenarios" { // a paragraph each
			printScenarios(tw)
			continue
		}
		t.each(func(name, doc string) { fmt.Fprintf(tw, "  %s\t%s\n", name, doc) })
	}
	return tw.Flush()
}

func printScenarios(w io.Writer) {
	for _, s := range scenarios.All() {
		var doc format.Lines
		doc.Hang("      ", s.Doc)
		fmt.Fprintf(w, "  %s: %s\n%s", s.Name, s.Warning, doc.String())
	}
}
