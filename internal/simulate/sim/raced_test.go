//go:build race

package sim

const raced = true // the race detector is slow, and runs goroutines that are ready in the same nanosecond in random order
