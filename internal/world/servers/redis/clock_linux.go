package redis

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// mapped is a file of 8 bytes that is mapped into memory and holds one number. Setting the number in memory is atomic.
// Writing the file might not be atomic.
type mapped struct {
	page   []byte
	number *atomic.Int64
}

func mapFile(path string) (*mapped, error) {
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
	return &mapped{page, (*atomic.Int64)(unsafe.Pointer(&page[0]))}, nil
}

func (m *mapped) add(d time.Duration) { m.number.Add(d.Nanoseconds()) }

func (m *mapped) close() error { return syscall.Munmap(m.page) }
