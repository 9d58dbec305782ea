//go:build race

package explore

const raced = true // the race detector is slow and changes the order in which goroutines run
