package impls

// remote is a lock in another process, whose optional methods are known at run time.
type remote interface {
	Lock
	Renewer
}

type (
	plain  struct{ remote }
	probed struct {
		remote
		Prober
	}
	split struct {
		remote
		Segmenter
	}
	splitProbed struct {
		remote
		Prober
		Segmenter
	}
)

// With returns a lock that implements Prober and Segmenter if they are not nil, and neither otherwise.
func With(lock remote, p Prober, s Segmenter) Lock {
	switch {
	case p != nil && s != nil:
		return splitProbed{lock, p, s}
	case p != nil:
		return probed{lock, p}
	case s != nil:
		return split{lock, s}
	}
	return plain{lock}
}
