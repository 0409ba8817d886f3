package data

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// isoLayouts are the layouts of package time for dates that can be read in one way only, and
// dateLayouts those for all dates and times that are read. A layout with 1 for the month also
// takes 01, and each takes fractions of a second.
var (
	isoLayouts = []string{
		"2006-1-2", "2006-1-2 15:04:05", "2006-1-2T15:04:05", "2006-1-2T15:04:05Z07:00", "2006-1-2 15:04:05Z07:00", "2006-1-2 15:04", "2006-1-2T15:04",
		"2006-1-2T15:04Z07:00", "2006-1-2T15:04:05Z0700", "2006-1-2 15:04:05Z0700", "2006-1-2 15:04:05 Z0700", "2006-1-2 15:04:05 UTC",
	}
	dateLayouts = append(isoLayouts[:len(isoLayouts):len(isoLayouts)],
		"2006/1/2", "2006/1/2 15:04:05", "2006/1/2 15:04", "2.1.2006", "2.1.2006 15:04:05", "2.1.2006 15:04",
		"1/2/2006", "1/2/2006 15:04:05", "1/2/2006 15:04", "1/2/2006 3:04:05 PM", "1/2/2006 3:04 PM",
		"2/1/2006", "2/1/2006 15:04:05", "2/1/2006 15:04", "2/1/2006 3:04:05 PM", "2/1/2006 3:04 PM",
		"2 Jan 2006", "2-Jan-2006", "Jan 2, 2006", "2 January 2006", "January 2, 2006", "2006-1", "15:04:05", "15:04",
	)
)

// alike has, for each of dateLayouts, the layouts with the date in the same form and a time or none.
// A date in one of isoLayouts is in the same form as one in another.
var alike = func() map[string][]string {
	forms, out := map[string][]string{}, map[string][]string{}
	form := func(layout string) string {
		if slices.Contains(isoLayouts, layout) {
			return isoLayouts[0]
		}
		date, _, _ := strings.Cut(layout, "15:04")
		date, _, _ = strings.Cut(date, "3:04")
		return strings.TrimSpace(date)
	}
	for _, l := range dateLayouts {
		forms[form(l)] = append(forms[form(l)], l)
	}
	for _, l := range dateLayouts {
		out[l] = forms[form(l)]
	}
	return out
}()

// parseDate reads a date of a column with a layout. Beside it the date may have one that is alike or, since
// they can be read in one way only, one of isoLayouts; a time alone stands only beside others.
func parseDate(layout, text string) (time.Time, error) {
	t, err := time.Parse(layout, text)
	if err == nil {
		return t, nil
	}
	layouts := alike[layout]
	if strings.Contains(layout, "2006") {
		layouts = slices.Concat(layouts, isoLayouts)
	}
	for _, l := range layouts {
		if t, err := time.Parse(l, text); err == nil {
			return t, nil
		}
	}
	return t, err
}

// dateIn returns the number for which a date of a column with a layout stands: days since 1970, or for a
// time alone the part of the day.
func dateIn(layout, text string) (float64, bool) {
	t, err := parseDate(layout, text)
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

// layoutOf returns the layout of words, of which there are some, or "" if they are no dates that stand in
// one column. Of several layouts that are alike it is the one that says most. Dates whose month may stand
// first or second are an error.
func layoutOf(words []string) (string, error) {
	for _, layout := range dateLayouts {
		if !allHave(layout, words) {
			continue
		}
		if other, ok := strings.CutPrefix(layout, "1/2/"); ok && allHave("2/1/"+other, words) {
			first := words[slices.IndexFunc(words, func(w string) bool { return strings.Contains(w, "/") })]
			return "", fmt.Errorf("dates such as %q may have the month first or second: write them as YYYY-MM-DD", first)
		}
		return longest(alike[layout], words), nil
	}
	return "", nil
}

// lookedAt bounds the words that are compared with all layouts, which takes 28 ms on a Zen 3.
const lookedAt = 200

// dateLike are texts that people take for dates: three numbers, the first or the last of which is a year, or with strokes.
var dateLike = regexp.MustCompile(`^((19|20)\d\d[-/. ]\d{1,2}[-/. ]\d{1,2}|\d{1,2}[-/. ]\d{1,2}[-/. ](19|20)\d\d|\d{1,2}/\d{1,2}/\d\d)([T ,].*)?$`)

// strangeDate returns, for words that are no column of dates, the first word that is no date where most others are, or the first of
// dates that are not read; and what was expected.
func (p profile) strangeDate() (w Word, expected string, ok bool) {
	p.words = p.words[:min(len(p.words), lookedAt)]
	for _, layout := range dateLayouts {
		is := func(text string) bool { _, err := parseDate(layout, text); return err == nil }
		if one, ok := p.most(is); ok {
			at := slices.IndexFunc(p.words, func(w Word) bool { return !is(w.Text) })
			if at < 0 { // among the words that were not looked at
				return w, "", false
			}
			return p.words[at], fmt.Sprintf("a date or time such as %q", one.Text), true
		}
	}
	w, ok = p.most(dateLike.MatchString)
	return w, "a date such as 2024-05-26 or 2024-05-26 22:46:00", ok
}

// allHave says whether all words can stand in a column with a layout.
func allHave(layout string, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool {
		_, err := parseDate(layout, w)
		return err != nil
	})
}

// longest returns the longest of the layouts that some word has.
func longest(layouts, words []string) (best string) {
	for _, l := range layouts {
		has := func(w string) bool {
			_, err := time.Parse(l, w)
			return err == nil
		}
		if len(l) > len(best) && slices.ContainsFunc(words, has) {
			best = l
		}
	}
	return best
}
