package cli

import (
	"io"

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
		Short: "List locks, workloads, faults, properties, scenarios, suites",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := choice.Table[table]{What: "table", All: tables, Describe: func(t table) (string, string) { return t.name, "" }}.Choose(args...)
			if err != nil {
				return err
			}
			return printTables(cmd.OutOrStdout(), chosen, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (an array of objects with kind, name and doc)")
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
	var all format.Lines
	for i, t := range tables {
		if i > 0 {
			all.Add("")
		}
		all.Add(t.name)
		if t.name == "scenarios" {
			for _, s := range scenarios.All() {
				all.Hang("  ", s.Name+": "+s.Warning)
				all.Hang("      ", s.Doc)
			}
			continue
		}
		wide := 0
		t.each(func(name, _ string) { wide = max(wide, format.Width(name)) })
		t.each(func(name, doc string) { all.Hang("  "+format.Pad(name, wide)+"  ", doc) })
	}
	_, err := all.WriteTo(w)
	return err
}
