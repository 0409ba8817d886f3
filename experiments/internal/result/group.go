package result

import (
	"fmt"
	"slices"
)

// Grouped returns the elements of list in groups with the same key, in the order of their first elements.
func Grouped[T any, K comparable](list []T, key func(T) K) (groups [][]T) {
	place := map[K]int{}
	for _, v := range list {
		k, there := place[key(v)]
		if !there {
			k = len(groups)
			place[key(v)], groups = k, append(groups, nil)
		}
		groups[k] = append(groups[k], v)
	}
	return groups
}

// Union returns list with those values that it lacks.
func Union(list []string, values ...string) []string {
	for _, v := range values {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

// Plural returns a number of things in words.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
