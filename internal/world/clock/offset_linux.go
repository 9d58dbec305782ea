package clock

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// Offset is a file of 8 bytes that is mapped into memory and holds the offset of a process's wall clock. Setting the number in
// memory is atomic. Writing the file might not be atomic.
type Offset struct {
	page   []byte
	number *atomic.Int64
}

// NewOffset creates the file of an offset, or opens the file again.
func NewOffset(path string) (*Offset, error) {
	const size = 8
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return nil, err
	}
	page, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &Offset{page, (*atomic.Int64)(unsafe.Pointer(&page[0]))}, nil
}

// Add moves the clock. A negative duration sets it back.
func (m *Offset) Add(d time.Duration) { m.number.Add(d.Nanoseconds()) }

// Close unmaps the file. Offset must not be used afterwards.
func (m *Offset) Close() error { return syscall.Munmap(m.page) }
