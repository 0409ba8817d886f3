package data

import (
	"fmt"
	"strings"
	"time"
)

// isoLayouts are the layouts of package time for dates that can be read in one way only, and
// dateLayouts those for all dates and times that are read. A layout with 1 for the month also
// takes 01, and each takes fractions of a second.
var (
	isoLayouts = []string{
		"2006-1-2", "2006-1-2 15:04:05", "2006-1-2T15:04:05", "2006-1-2T15:04:05Z07:00", "2006-1-2 15:04:05Z07:00", "2006-1-2 15:04", "2006-1-2T15:04",
	}
	dateLayouts = append(isoLayouts[:len(isoLayouts):len(isoLayouts)],
		"2006/1/2", "2006/1/2 15:04:05", "2006/1/2 15:04", "2.1.2006", "2.1.2006 15:04:05", "2.1.2006 15:04",
		"1/2/2006", "1/2/2006 15:04:05", "1/2/2006 15:04", "2/1/2006", "2/1/2006 15:04:05", "2/1/2006 15:04",
		"2 Jan 2006", "2-Jan-2006", "Jan 2, 2006", "15:04:05", "15:04",
	)
)

// dateIn returns the number for which a date stands: days since 1970, or for a time alone the
// part of the day. Beside its layout the date may have one of isoLayouts.
func dateIn(layout, text string) (float64, bool) {
	t, err := time.Parse(layout, text)
	for i := 0; err != nil && i < len(isoLayouts) && strings.Contains(layout, "2006"); i++ {
		t, err = time.Parse(isoLayouts[i], text)
	}
	if err != nil {
		return 0, false
	}
	start := time.Unix(0, 0)
	if !strings.Contains(layout, "2006") {
		start = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	seconds := t.Unix() - start.Unix()
	return (float64(seconds) + float64(t.Nanosecond())/1e9) / 86400, true
}

// layoutOf returns the layout of all of the words, of which there are some, or "" if they are
// no dates. Dates whose month may stand first or second are an error.
func layoutOf(words []string) (string, error) {
	for _, layout := range dateLayouts {
		if !allHave(layout, words) {
			continue
		}
		if other, ok := strings.CutPrefix(layout, "1/2/"); ok && allHave("2/1/"+other, words) {
			return "", fmt.Errorf("dates such as %q may have the month first or second: write them as YYYY-MM-DD", words[0])
		}
		return layout, nil
	}
	return "", nil
}

func allHave(layout string, words []string) bool {
	for _, w := range words {
		if _, err := time.Parse(layout, w); err != nil {
			return false
		}
	}
	return true
}
