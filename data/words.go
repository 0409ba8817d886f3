package data

import (
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/tablefile"
)

// Words are the cells of one column that are no finite numbers: text, dates, gaps.
type Words struct {
	Codes []int32          // [N]; 0 where the cell is a number, otherwise 1 + its place in List
	List  []Word           // the different words, in the order in which they were found
	index map[string]int32 // the code of each word
	size  int              // of the list, in bytes
}

// A Word is the text of a cell, and where it was found first: the number of the line, counting
// from 1, in a file of text, otherwise the number of the row, counting from 0.
type Word struct {
	Text string // of the cell
	At   int    // line or row where the text was found first
	Path string // file where it was found first, for a sample of several files; otherwise ""
}

// add gives row i the word that cell holds.
func (w *Words) add(i int, cell []byte, at int) {
	code, ok := w.index[string(cell)]
	if !ok {
		code = w.learn(Word{Text: string(cell), At: at})
	}
	w.fill(i)
	w.Codes = append(w.Codes, code)
}

// put gives row i, which may have another word, a word.
func (w *Words) put(i int, word Word) {
	code, ok := w.index[word.Text]
	if !ok {
		code = w.learn(word)
	}
	w.fill(i + 1)
	w.Codes[i] = code
}

// learn adds a word to the list and returns its code.
func (w *Words) learn(word Word) int32 {
	if w.index == nil {
		w.index = map[string]int32{}
	}
	w.List = append(w.List, word)
	w.index[word.Text] = int32(len(w.List))
	w.size += len(word.Text) + wordBytes
	return int32(len(w.List))
}

// fill says that the cells before row n that are not known yet are numbers.
func (w *Words) fill(n int) {
	for len(w.Codes) < n {
		w.Codes = append(w.Codes, 0)
	}
}

// gaps are the texts, in lower case, that stand for a missing value.
var gaps = map[string]bool{"": true, "na": true, "n/a": true, "#n/a": true, "<na>": true, "nan": true, "-nan": true, "nat": true, "null": true, "none": true, "?": true}

// missing says whether the text of a cell stands for a missing value: nothing, NA, N/A, NaN, NaT,
// null, None or ?, in upper or lower case.
func missing(text string) bool { return len(text) <= 4 && gaps[strings.ToLower(text)] }

// parse returns the finite number that a cell, without blanks around it, holds in decimal
// notation. Underscores and hexadecimal digits, which Go's numbers may have, make it none.
func parse(cell []byte) (v float64, ok bool) {
	for _, c := range cell {
		if c-'0' > 9 && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(cell), len(cell)), 64)
	return v, err == nil && kernel.Finite(v)
}

// rounded says whether a cell that holds v is a whole number that float64 does not hold.
func rounded(cell []byte, v float64) bool {
	const most = 310 // digits of a float64, and a sign
	if math.Abs(v) < tablefile.Exact || len(cell) > most {
		return false
	}
	exact, ok := new(big.Int).SetString(string(cell), 10)
	if !ok {
		return false
	}
	held, _ := new(big.Float).SetFloat64(v).Int(nil)
	return held.Cmp(exact) != 0
}

// separated says whether a text is a number with a decimal comma, such as 1,5 or 1.234,5, or with
// separators of thousands, such as 1,234,567.8, 1 234 or 1'234. A language with lakhs has groups of two
// digits before the last group.
func separated(text string) bool {
	return decimalComma(text) || slices.ContainsFunc(thousands, func(form *regexp.Regexp) bool { return form.MatchString(text) })
}

// plainly says how numbers are to be written, for messages.
const plainly = "a number with a decimal point such as 1.5, without separators of thousands, signs of money or per cent, and brackets"

// dressing are signs around numbers that are not read: money, per cent, brackets of negative sums, and the sign that texts have for a minus.
var dressing = strings.NewReplacer("$", "", "€", "", "£", "", "¥", "", "%", "", "(", "", ")", "", "\u2212", "-")

// disguised says whether a text is a number as people write it and no table should: [separated], or with signs around it.
func disguised(text string) bool {
	plain := strings.TrimSpace(dressing.Replace(text))
	_, ok := parse([]byte(plain))
	return ok && plain != text || separated(plain)
}

// thousands are the forms of numbers with separators of thousands. A number with one dot is read as a
// decimal, and the blanks are those that programs write: usual, narrow and thin, with and without a break.
var thousands = []*regexp.Regexp{
	regexp.MustCompile(`^[+-]?[1-9]\d{0,2}(,\d{2,3})*,\d{3}(\.\d*)?$`),
	regexp.MustCompile(`^[+-]?[1-9]\d{0,2}(\.\d{3}){2,}$`),
	regexp.MustCompile(`^[+-]?[1-9]\d{0,2}([ \x{00a0}\x{2009}\x{202f}]\d{3})+([.,]\d*)?$`),
	regexp.MustCompile(`^[+-]?[1-9]\d{0,2}(['’]\d{3})+([.,]\d*)?$`),
}

// decimalComma says whether a text is a number such as 1,5 or 1.234,5.
func decimalComma(text string) bool {
	if strings.Count(text, ",") != 1 {
		return false
	}
	plain := strings.Replace(strings.ReplaceAll(text, ".", ""), ",", ".", 1)
	_, ok := parse([]byte(plain))
	return ok && !strings.HasSuffix(text, ",")
}

// key is the text by which a number is compared with categories. People see [tablefile.Number]; files of
// models may hold either.
func key(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// category is the text by which a word stands among categories: a number that a file holds as
// text is the same category as the number.
func category(text string) string {
	if v, ok := parse([]byte(text)); ok {
		return key(v)
	}
	return text
}

// truth returns true or false if a text is one of them in any case.
func truth(text string) (word string, ok bool) {
	for _, word := range pairs[0] {
		if strings.EqualFold(text, word) {
			return word, true
		}
	}
	return "", false
}

// spellings have, for true and false, the spelling that came first.
type spellings map[string]string

// of returns the name of the category of a word: the first spelling of true or false, and other words as they
// are, numbers among them as [tablefile.Number] writes them.
func (s spellings) of(text string) string {
	if v, ok := parse([]byte(text)); ok {
		return tablefile.Number(v)
	}
	word, ok := truth(text)
	if !ok {
		return text
	}
	if s[word] == "" {
		s[word] = text
	}
	return s[word]
}

// places are the places of categories in a list.
type places map[string]int

// placesOf returns the places of values, which files of models may hold in other notations of numbers.
func placesOf(values []string) places {
	at := make(places, len(values))
	for i, v := range values {
		at[category(v)] = i
	}
	for i, v := range values {
		if word, ok := truth(v); ok {
			if _, taken := at[word]; !taken {
				at[word] = i
			}
		}
	}
	return at
}

// number returns the place of a number. A float32, of an array or of Parquet, is the number of fewest digits that it stands for.
func (p places) number(v float64) (int, bool) {
	if i, ok := p[key(v)]; ok {
		return i, true
	}
	single := float64(float32(v))
	if single == v {
		i, ok := p[strconv.FormatFloat(v, 'g', -1, 32)]
		return i, ok
	}
	i, ok := p[key(single)]
	return i, ok
}

// of returns the place of a text. One program writes true, another True or TRUE: a spelling that the list
// lacks is the same category.
func (p places) of(text string) (int, bool) {
	if i, ok := p[category(text)]; ok {
		return i, true
	}
	if v, ok := parse([]byte(text)); ok {
		return p.number(v)
	}
	word, ok := truth(text)
	if !ok {
		return 0, false
	}
	i, ok := p[word]
	return i, ok
}
