package redis

// SetMostInFlight sets the number of messages of a batcher that may await their replies.
func SetMostInFlight(n int) { mostInFlight = n }
