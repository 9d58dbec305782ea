//go:build race

package sim

const raced = true // whether the race detector is enabled; it slows tests down and randomizes the order of goroutines
