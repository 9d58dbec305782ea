//go:build race

package explore

const raced = true // whether the race detector is enabled; it slows tests down and changes the order of goroutines
