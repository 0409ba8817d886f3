package tabular

// Sets returns all sets, in the order of their names.
func Sets() []Set {
	return []Set{airline(), nycFlights(), taxi(), taxiGreen(), year()}
}

// packed returns a name and those of its packed forms.
func packed(name string) []string { return []string{name, name + ".gz", name + ".bz2", name + ".zip"} }
