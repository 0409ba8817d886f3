package graph

import (
	"fmt"

	"github.com/go-valla/valla/internal/ram"
)

// MemoryError says that a computation needs more memory than it may have.
type MemoryError struct {
	What        string // the computation
	Need, Limit int64  // bytes
	Free        bool   // Limit is the free memory of the machine and no setting
}

// Error says what needs how many bytes, and how many there are.
func (e *MemoryError) Error() string {
	if e.Free {
		return fmt.Sprintf("%s needs %s, more than the %s that are free", e.What, exactly(e.Need), exactly(e.Limit))
	}
	return fmt.Sprintf("%s needs %s, more than the limit of %s", e.What, exactly(e.Need), exactly(e.Limit))
}

// CheckMemory returns a *MemoryError if the machine has no room for bytes more, which what names.
func CheckMemory(what string, bytes int64) error {
	if left, ok := ram.Fits(bytes); !ok {
		return &MemoryError{What: what, Need: bytes, Limit: left, Free: true}
	}
	return nil
}

// exactly is Bytes with the number itself.
func exactly(n int64) string {
	number := fmt.Sprintf("%d bytes", n)
	if short := Bytes(n); short != number {
		return number + " (" + short + ")"
	}
	return number
}

// Bytes formats a number of bytes, as 3.2 GiB.
func Bytes(n int64) string {
	unit, units := 0, []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	v := float64(n)
	for v >= 999.5 && unit < len(units)-1 {
		v /= 1024
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	if v >= 999.5 {
		return fmt.Sprintf("%.0f %s", v, units[unit])
	}
	return fmt.Sprintf("%.3g %s", v, units[unit])
}

// Tile returns the size of the largest part of a batch whose computation needs at most limit
// bytes, and the bytes that it needs. need returns these for a size; the size of a part is that
// of the batch divided by a whole number. With limit 0 the part is the whole batch. If a single
// example does not fit, the error is a *MemoryError, in which the argument what names the
// computation.
func Tile(what string, batch int, limit int64, need func(size int) (int64, error)) (size int, bytes int64, err error) {
	for parts := 1; parts <= batch; parts++ {
		if batch%parts != 0 {
			continue
		}
		if bytes, err = need(batch / parts); err != nil {
			return 0, 0, err
		}
		if limit == 0 || bytes <= limit {
			return batch / parts, bytes, nil
		}
	}
	return 0, 0, &MemoryError{What: what, Need: bytes, Limit: limit}
}
