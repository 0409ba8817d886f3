package laplace

import "fmt"

// enum holds the names of an enumeration's values, in order from 0.
type enum struct {
	kind  string   // what is enumerated, for messages
	names []string // by value, from 0
}

var (
	structures = enum{"structure", []string{"full", "kfac", "diag", "lowrank"}}
	priorKinds = enum{"priors", []string{"shared", "per layer", "per parameter"}}
	spaceKinds = enum{"space", []string{"smaller", "weights", "functions"}}
)

// has reports whether value number i exists.
func (e enum) has(i int) bool { return i >= 0 && i < len(e.names) }

// name returns the name of value number i.
func (e enum) name(i int) string {
	if e.has(i) {
		return e.names[i]
	}
	return fmt.Sprintf("%s %d", e.kind, i)
}

// text is name for files.
func (e enum) text(i int) ([]byte, error) {
	if !e.has(i) {
		return nil, e.check(i)
	}
	return []byte(e.names[i]), nil
}

// parse returns the number of the value called text.
func (e enum) parse(text []byte) (int, error) {
	for i, n := range e.names {
		if n == string(text) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("laplace: %s %q, expected one of %q", e.kind, text, e.names)
}

// check refuses numbers without a value.
func (e enum) check(i int) error {
	if e.has(i) {
		return nil
	}
	return fmt.Errorf("laplace: unknown %s %d", e.kind, i)
}

// String returns the name: full, kfac, diag or lowrank.
func (s structureKind) String() string { return structures.name(int(s)) }

// MarshalText implements encoding.TextMarshaler.
func (s structureKind) MarshalText() ([]byte, error) { return structures.text(int(s)) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *structureKind) UnmarshalText(text []byte) error {
	i, err := structures.parse(text)
	*s = structureKind(i)
	return err
}

// String returns the name: shared, per layer or per parameter.
func (p priorsKind) String() string { return priorKinds.name(int(p)) }

// MarshalText implements encoding.TextMarshaler.
func (p priorsKind) MarshalText() ([]byte, error) { return priorKinds.text(int(p)) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *priorsKind) UnmarshalText(text []byte) error {
	i, err := priorKinds.parse(text)
	*p = priorsKind(i)
	return err
}

// String returns the name: smaller, weights or functions.
func (s spaceKind) String() string { return spaceKinds.name(int(s)) }

// MarshalText implements encoding.TextMarshaler.
func (s spaceKind) MarshalText() ([]byte, error) { return spaceKinds.text(int(s)) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *spaceKind) UnmarshalText(text []byte) error {
	i, err := spaceKinds.parse(text)
	*s = spaceKind(i)
	return err
}
