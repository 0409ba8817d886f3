package result

import "encoding/json"

// Setup is everything on which the fit of a cell depends, except for the data's contents, the
// seed and the program.
type Setup struct {
	Method    string          // name of the method
	Settings  map[string]any  // of the method; nil for MAP
	HyperFrom string          // the method that gives the hyper-parameters, or ""
	Network   json.RawMessage // its description, and how it is trained or the checksum of its weights
}

// Layout of a cell's settings. The list begins with the version of the results, the data set,
// a checksum of its contents and the seed of the network. Then come the network's form and its
// training, or the checksum of its weights and the share of validation rows. The last are the
// scoring, the method, its settings, where its hyper-parameters come from, and the seed.
const (
	setupHead = 4
	setupTail = 5
)

// Setup returns what the cell's settings say, and false if there are none.
func (c *Cell) Setup() (Setup, bool) {
	var all []json.RawMessage
	if json.Unmarshal(c.Settings, &all) != nil || len(all) <= setupHead+setupTail {
		return Setup{}, false
	}
	s, tail := Setup{}, all[len(all)-setupTail:]
	for i, v := range []any{&s.Method, &s.Settings, &s.HyperFrom} {
		if json.Unmarshal(tail[1+i], v) != nil {
			return Setup{}, false
		}
	}
	var err error
	s.Network, err = json.Marshal(all[setupHead : len(all)-setupTail])
	return s, err == nil
}

// Key identifies the row of a cell by its method and all settings. Cells that differ only in
// data set, seed or scoring have the same key. It is the row's name where the settings are
// unknown. Key is not for several goroutines.
func (c *Cell) Key() string {
	if c.key != "" {
		return c.key
	}
	s, ok := c.Setup()
	if !ok {
		return c.Row
	}
	all, err := compact([]any{s.Method, s.Settings, s.HyperFrom, s.Network}) // as published cells have them
	if err != nil {
		return c.Row
	}
	if c.key, err = Hash(all); err != nil {
		return c.Row
	}
	return c.key
}
