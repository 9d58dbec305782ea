//go:build race

package sim

const raced = true // the race detector shuffles the goroutines that could run at one instant, and is slow
