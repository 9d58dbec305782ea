package libraries

import "testing"

// TestCrateProject checks that a crate which is named several times is one dependency with all its features.
func TestCrateProject(t *testing.T) {
	const want = `[package]
name = "adapter"
version = "1.0.0"
edition = "2021"

[dependencies]
lockbench-worker = { path = "sdk" }
rslock = { version = "=0.10.0", features = ["tokio-comp"] }
tokio = { version = "1", features = ["rt", "time"] }
`
	if got := crateProject([]string{"rslock:0.10.0", "tokio:1", "rslock/tokio-comp:0.10.0", "tokio/rt:1", "tokio/time:1"})["Cargo.toml"]; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
