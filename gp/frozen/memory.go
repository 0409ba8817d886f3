package frozen

import (
	"sync"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/dense"
)

// Memory keeps the features of rows. Several goroutines may use it at once.
type Memory struct {
	mu    sync.Mutex   // one goroutine at a time
	at    map[key]int  // number of the record of a row
	dt    tensor.Dtype // of features
	width int          // numbers of a row of features
	kept  [][]byte     // features by numbers of records, where there is no file
	file  *file        // nil: features are kept in memory

	closed bool // nothing is remembered

	row  []float64 // of features
	text []byte    // of a record
}

// InMemory returns an empty memory for the features of a cut.
func InMemory(c *Cut) *Memory {
	return &Memory{at: map[key]int{}, dt: c.dt, width: c.Width(), row: make([]float64, c.Width())}
}

// Rows returns of how many rows there are features.
func (m *Memory) Rows() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.at)
}

// remembers reports whether the memory keeps anything; none, nil, does not.
func (m *Memory) remembers() bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.closed
}

// Path returns the path of the file, "" where features are kept in memory.
func (m *Memory) Path() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil {
		return ""
	}
	return m.file.Name()
}

// Close forgets all features, those in a file excepted, and closes the file. Nothing is remembered after it.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.kept = true, nil
	clear(m.at)
	if m.file == nil {
		return nil
	}
	f := m.file
	m.file = nil
	return f.Close()
}

// RecordBytes returns how many bytes of a file the features of a row take.
func (m *Memory) RecordBytes() int64 { return int64(len(key{}) + sumBytes + m.rowBytes()) }

// rowBytes returns the bytes of the features of a row.
func (m *Memory) rowBytes() int { return m.width * int(m.dt.Size()) }

// Missing returns how many of the inputs x [N,…] of the network of c the memory does not know.
func (m *Memory) Missing(c *Cut, x *tensor.Dense) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, h := 0, newHasher(c.dt)
	for i := range x.Shape()[0] {
		if _, ok := m.at[h.row(x, i)]; !ok {
			n++
		}
	}
	return n
}

// copyTo writes the features of a row to v, and returns whether there are any.
func (m *Memory) copyTo(k key, v []float64) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ok, err := m.find(k)
	if ok {
		copy(v, m.row)
	}
	return ok, err
}

// find reads the features of a row into m.row. A record that is damaged counts as none.
func (m *Memory) find(k key) (bool, error) {
	at, ok := m.at[k]
	if !ok {
		return false, nil
	}
	if m.file == nil {
		decode(m.row, m.kept[at], m.dt)
		return true, nil
	}
	text, ok, err := m.file.record(at, k)
	if ok {
		decode(m.row, text, m.dt)
	} else {
		delete(m.at, k)
	}
	return ok, err
}

// add keeps the features y [n,…] of the rows with keys, those that are known left out.
func (m *Memory) add(keys []key, y *tensor.Dense) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	var new []key
	m.text = m.text[:0]
	seen := map[key]bool{}
	for i, k := range keys {
		if _, known := m.at[k]; known || seen[k] {
			continue
		}
		seen[k], new = true, append(new, k)
		dense.Copy(m.row, y, i*m.width)
		if m.file != nil {
			m.text = m.file.encode(m.text, k, m.row, m.dt)
		} else {
			m.text = encode(m.text, m.row, m.dt)
		}
	}
	return m.append(new)
}

// append keeps the records in m.text.
func (m *Memory) append(keys []key) error {
	if m.file != nil {
		first, err := m.file.append(m.text)
		if err != nil {
			return err
		}
		for i, k := range keys {
			m.at[k] = first + i
		}
		return nil
	}
	text := append([]byte(nil), m.text...)
	for i, k := range keys {
		m.at[k] = len(m.kept)
		m.kept = append(m.kept, text[i*m.rowBytes():(i+1)*m.rowBytes()])
	}
	return nil
}
