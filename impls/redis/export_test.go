package redis

// SetMostInFlight sets the number of messages of a batcher that may await their replies. The returned function restores it.
func SetMostInFlight(n int) (restore func()) {
	before := mostInFlight
	mostInFlight = n
	return func() { mostInFlight = before }
}
