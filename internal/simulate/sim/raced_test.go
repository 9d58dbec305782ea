//go:build race

package sim

const raced = true // the race detector runs goroutines of one nanosecond in random order, and is slow
