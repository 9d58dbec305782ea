package examples

import (
	"strings"
	"testing"
)

// TestPythonProgramEnds checks that at the end of the input a worker in Python ends as a program does: the main thread returns,
// and the threads of the library go on. An acquire that still waits must not keep the process alive.
func TestPythonProgramEnds(t *testing.T) {
	for argument, key := range map[string]string{"": "thread", "waiting": "k"} {
		c := begin(t, "python3", "testdata/scripted.py", argument)
		c.tell(`{"id":1,"do":"acquire","key":"` + key + `","ttl_ms":600,"wait_ms":-1}`)
		if argument == "" {
			c.text()
		}
		if err := c.in.Close(); err != nil {
			t.Fatal(err)
		}
		for range c.lines { // until the process has ended
		}
		if err := c.cmd.Wait(); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		_, after, returned := strings.Cut(c.log.String(), "serve has returned")
		if !returned || strings.Contains(after, "printed by a thread of the library") != (argument == "") {
			t.Errorf("%s: %s", key, c.log.String())
		}
	}
}

// TestPythonShutdown checks that a shutdown ends a worker in Python at once, without the threads of the library.
func TestPythonShutdown(t *testing.T) {
	c := begin(t, "python3", "testdata/scripted.py")
	c.tell(`{"id":1,"do":"acquire","key":"thread","ttl_ms":600,"wait_ms":-1}`)
	c.text()
	c.tell(`{"id":0,"do":"shutdown"}`)
	for range c.lines { // until the process has ended
	}
	if err := c.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if log := c.log.String(); strings.Contains(log, "serve has returned") || strings.Contains(log, "printed by a thread") {
		t.Error(log)
	}
}
