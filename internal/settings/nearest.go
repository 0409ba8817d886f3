package settings

import (
	"fmt"
	"strings"
)

// Nearest returns the end of an error about a name that is not among the known names: "; did you mean X?" if a known
// name X differs from the given name by a few letters, and "" otherwise.
func Nearest(given string, known []string) string {
	const longest = 100 // a longer word is no name with a slip
	if len(given) > longest {
		return ""
	}
	best, least := "", len(given)/3+1
	for _, name := range known {
		if d := distance(strings.ToLower(given), strings.ToLower(name)); d < least || d == least && best == "" {
			best, least = name, d
		}
	}
	if best == "" || best == given || least >= max(len(given), len(best)) {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// distance returns the least number of letters to insert, leave out, replace or exchange with their neighbour that
// makes b out of a (the optimal string alignment distance).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	older, before, now := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range now {
		now[j] = j
	}
	for i, u := range x {
		older, before, now = before, now, older
		now[0] = i + 1
		for j, v := range y {
			cost := 1
			if u == v {
				cost = 0
			}
			now[j+1] = min(before[j]+cost, before[j+1]+1, now[j]+1)
			if i > 0 && j > 0 && u == y[j-1] && x[i-1] == v {
				now[j+1] = min(now[j+1], older[j-1]+1)
			}
		}
	}
	return now[len(y)]
}
