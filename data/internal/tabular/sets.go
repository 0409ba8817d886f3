package tabular

// Sets returns all sets, in the order of their names.
func Sets() []Set {
	return []Set{airline(), nycFlights(), taxi(), taxiGreen(), year()}
}

// packed returns the name of a file and the names of its packed forms.
func packed(name string) []string { return []string{name, name + ".gz", name + ".bz2", name + ".zip"} }
