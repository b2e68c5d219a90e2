package text

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestForeignTextIsShortAndInOneLine(test *testing.T) {
	table := map[string]string{
		"":                       "",
		"a\nb\x7fc\u0085d":       "a b c d",
		strings.Repeat("ä", 200): strings.Repeat("ä", 200),
		strings.Repeat("ä", 201): strings.Repeat("ä", 199) + "…",
		"a\xffb":                 "a\uFFFDb",
	}
	for text, expected := range table {
		if said := Quoted(text); said != expected {
			test.Errorf("%q", said)
		}
	}
}

func TestEachBeginningOfJSONIsCutOffAndWhatIsNoneIsNot(test *testing.T) {
	const whole = `{"a": [1.5e-3, true, null, "ä\u00e9\"\ud83d\ude00"], "b": {}}`
	for end := 1; end < len(whole); end++ {
		var notJSON *NotJSON
		err := ReadJSON([]byte(whole[:end]), new(any))
		if !errors.As(err, &notJSON) || !notJSON.IsCutOff {
			test.Errorf("%s: %v", whole[:end], err)
		}
	}
	if err := ReadJSON([]byte(whole), new(any)); err != nil {
		test.Error(err)
	}
	for _, nonsense := range []string{"<html>", "nonsense", "[1,]", "{a}", `"a` + "\n" + `"`, "1 2", "NaN", "\x00\xff", `"\x"`} {
		var notJSON *NotJSON
		if err := ReadJSON([]byte(nonsense), new(any)); !errors.As(err, &notJSON) || notJSON.IsCutOff {
			test.Errorf("%q: %v", nonsense, err)
		}
	}
}

func TestWhatIsNoUnicodeIsNoJSON(test *testing.T) {
	for _, text := range []string{`"\ud800"`, `"\ud800x"`, `"\udc00"`, `"\ud800\u0041"`, "\"\xff\"", `"\ud800\n"`} {
		if err := ReadJSON([]byte(text), new(any)); err == nil {
			test.Error(text)
		}
	}
	var said string
	if err := ReadJSON([]byte(`"\\ud800 \ud83d\ude00"`), &said); err != nil || said != `\ud800 😀` {
		test.Error(said, err)
	}
}

func TestWhatIsNestedTooDeepIsNoJSON(test *testing.T) {
	nested := func(levels int) []byte { return []byte(strings.Repeat("[", levels) + strings.Repeat("]", levels)) }
	if err := ReadJSON(nested(127), new(any)); err != nil {
		test.Error(err)
	}
	if ReadJSON(nested(128), new(any)) == nil {
		test.Error("128 levels")
	}
	if err := ReadJSON([]byte(`"`+strings.Repeat("[", 1_000)+`"`), new(any)); err != nil {
		test.Error(err)
	}
}

func TestAMistakeHasALineAndAColumn(test *testing.T) {
	table := map[string][2]int{"{\n  nonsense": {2, 3}, "x": {1, 1}, "[1,\n\n 2 3]": {3, 4}}
	for text, expected := range table {
		var notJSON *NotJSON
		if err := ReadJSON([]byte(text), new(any)); !errors.As(err, &notJSON) || [2]int{notJSON.Line, notJSON.Column} != expected {
			test.Error(text, err)
		}
	}
}

func FuzzReadJSON(fuzz *testing.F) {
	for _, text := range []string{`{"a": "\ud83d\ude00"}`, `"\u00`, "[[[", "\xf0\x9f", `"\\`} {
		fuzz.Add([]byte(text))
	}
	fuzz.Fuzz(func(test *testing.T, source []byte) {
		var value any
		if err := ReadJSON(source, &value); err == nil && !utf8.Valid(source) {
			test.Errorf("%q", source)
		}
	})
}
