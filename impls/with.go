package impls

// remote is a lock in another process. Whether it also implements Prober or Segmenter is known only at run time.
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

// With returns a lock that also implements Prober if p is not nil, and Segmenter if s is not nil.
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
