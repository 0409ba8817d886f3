package tabular

import (
	"github.com/go-valla/valla/internal/tablefile"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// numberOf returns the function that converts values of a type to numbers, or nil if the type
// is none of numbers.
func numberOf(t parquet.Type) func(parquet.Value) (float64, bool) {
	if l := t.LogicalType(); l != nil {
		if i, ok := l.Value.(*format.IntType); !ok || !i.IsSigned {
			return nil
		}
	}
	switch t.Kind() {
	case parquet.Int32:
		return func(v parquet.Value) (float64, bool) { return float64(v.Int32()), true }
	case parquet.Int64:
		return func(v parquet.Value) (float64, bool) { return whole(v.Int64()) }
	case parquet.Float:
		return func(v parquet.Value) (float64, bool) { return float64(v.Float()), true }
	case parquet.Double:
		return func(v parquet.Value) (float64, bool) { return v.Double(), true }
	}
	return nil
}

// timeOf returns the function that converts values of a type to times in microseconds, or nil
// if the type is none of times. Nanoseconds are rounded down.
func timeOf(t parquet.Type) func(parquet.Value) (float64, bool) {
	l := t.LogicalType()
	if l == nil || t.Kind() != parquet.Int64 {
		return nil
	}
	stamp, ok := l.Value.(*format.TimestampType)
	if !ok {
		return nil
	}
	switch stamp.Unit.Value.(type) {
	case *format.MilliSeconds:
		return func(v parquet.Value) (float64, bool) {
			ms := v.Int64()
			return float64(ms) * 1000, -tablefile.Exact/1000 <= ms && ms <= tablefile.Exact/1000
		}
	case *format.MicroSeconds:
		return func(v parquet.Value) (float64, bool) { return whole(v.Int64()) }
	case *format.NanoSeconds:
		return func(v parquet.Value) (float64, bool) {
			ns := v.Int64()
			us := ns / 1000
			if ns%1000 < 0 {
				us--
			}
			return whole(us)
		}
	}
	return nil
}

func whole(v int64) (float64, bool) { return float64(v), -tablefile.Exact <= v && v <= tablefile.Exact }
