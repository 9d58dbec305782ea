package explore

import (
	"bufio"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"lockbench/impls"
)

// TestMain is also the exploring process: those of a pool are this test program again.
func TestMain(m *testing.M) {
	impls.Quiet()
	debug.SetGCPercent(400) // as an exploring process has it
	switch {
	case len(os.Args) == 2 && os.Args[1] == "explorer":
		if err := Serve(os.Stdin, os.Stdout, func() { os.Exit(0) }); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case len(os.Args) == 2 && os.Args[1] == "mortal":
		mortal()
	default:
		os.Exit(m.Run())
	}
}

// mortal is an exploring process that dies of the seed 2.
func mortal() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if strings.Contains(in.Text(), `"from":3,`) {
			fmt.Println(`{"seed":{"seed":3}}` + "\n" + `{"last":true}`)
			continue
		}
		fmt.Println(`{"seed":{"seed":0}}` + "\n" + `{"seed":{"seed":1}}`)
		fmt.Fprintln(os.Stderr, "out of ideas")
		os.Exit(3)
	}
}
