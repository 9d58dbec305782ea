//go:build race

package explore

const raced = true // the race detector shuffles the goroutines that could run at one instant, and is slow
