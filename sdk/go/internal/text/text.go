// Package text reads foreign text.
package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The maximum length of a quote.
const quotedCharacters = 200

// The maximum nesting of arrays and objects.
const mostLevels = 127

// Quoted quotes a foreign text in one line, shortened.
func Quoted(text string) string {
	var line strings.Builder
	count := 0
	for _, character := range text {
		if count == quotedCharacters-1 && utf8.RuneCountInString(text) > quotedCharacters {
			line.WriteRune('…')
			break
		}
		if character < ' ' || (character >= 0x7f && character <= 0x9f) {
			character = ' '
		}
		line.WriteRune(character)
		count++
	}
	return line.String()
}

// NotJSON is the position at which a text stops being JSON. IsCutOff means that the text up to its end is the beginning
// of JSON.
type NotJSON struct {
	Line, Column int
	IsCutOff     bool
}

// Error names the position.
func (err *NotJSON) Error() string {
	return fmt.Sprintf("not JSON (line %d, column %d)", err.Line, err.Column)
}

// ReadJSON decodes JSON like json.Unmarshal, except that numbers in an `any` have type json.Number.
func ReadJSON(source []byte, into any) error {
	if at := flaw(source); at >= 0 {
		return notJSON(source, at, false)
	}
	decoder := json.NewDecoder(bytes.NewReader(source))
	decoder.UseNumber()
	if json.Valid(source) {
		return decoder.Decode(into)
	}
	at, isCutOff := firstFault(source)
	return notJSON(source, at, isCutOff)
}

// firstFault returns the position at which a text stops being JSON, and whether that is its end.
func firstFault(source []byte) (at int, isCutOff bool) {
	// This byte is wrong at every position: the parser reaches it only in a text that is right up to its end. Without it,
	// the end of a number or a word looks like a fault.
	marked := append(bytes.Clone(source), 0)
	var syntax *json.SyntaxError
	if !errors.As(json.Unmarshal(marked, new(json.RawMessage)), &syntax) {
		return 0, false
	}
	at = max(int(syntax.Offset)-1, 0)
	return at, at == len(source)
}

func notJSON(source []byte, at int, isCutOff bool) *NotJSON {
	before := source[:min(at, len(source))]
	return &NotJSON{1 + bytes.Count(before, []byte{'\n'}), at - bytes.LastIndexByte(before, '\n'), isCutOff}
}

// flaw returns the position of a flaw that encoding/json accepts: too many levels, half a surrogate pair, text that is
// not UTF-8. -1 if there is none.
func flaw(source []byte) int {
	depth, inString := 0, false
	for at := 0; at < len(source); at++ {
		switch character := source[at]; {
		case character >= utf8.RuneSelf:
			size := runeSize(source[at:])
			if size == 0 {
				return at
			}
			at += size - 1
		case inString && character == '\\':
			skip, isHalf := escape(source[at:])
			if isHalf {
				return at
			}
			at += skip
		case character == '"':
			inString = !inString
		case inString:
		case character == '[' || character == '{':
			if depth++; depth > mostLevels {
				return at
			}
		case character == ']' || character == '}':
			depth--
		}
	}
	return -1
}

// runeSize returns the bytes of the first character, 0 if it is invalid. It leaves a character that the end of the text
// cuts off to the parser.
func runeSize(rest []byte) int {
	if !utf8.FullRune(rest) {
		return len(rest)
	}
	character, size := utf8.DecodeRune(rest)
	if character == utf8.RuneError && size == 1 {
		return 0
	}
	return size
}

// escape returns the bytes after the backslash that belong to the escape, and whether it is half a surrogate pair.
func escape(rest []byte) (skip int, isHalf bool) {
	unit, isUnit := unicodeUnit(rest)
	switch {
	case !isUnit:
		return 1, false
	case unit>>10 == 0xdc00>>10:
		return 0, true
	case unit>>10 != 0xd800>>10:
		return 5, false
	}
	low, isUnit := unicodeUnit(rest[6:])
	if isUnit {
		return 11, low>>10 != 0xdc00>>10
	}
	// The parser finds a missing end of the text.
	return 5, !isBeginningOfUnit(rest[6:min(12, len(rest))])
}

func isBeginningOfUnit(rest []byte) bool {
	const pattern = `\u0000`
	for index, character := range rest {
		isHex := index > 1 && strings.IndexByte("0123456789abcdef", character|0x20) >= 0
		if !isHex && (index > 1 || character != pattern[index]) {
			return false
		}
	}
	return len(rest) < len(pattern)
}

func unicodeUnit(rest []byte) (unit uint16, is bool) {
	if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' {
		return 0, false
	}
	for _, digit := range rest[2:6] {
		value := strings.IndexByte("0123456789abcdef", digit|0x20)
		if value < 0 {
			return 0, false
		}
		unit = unit<<4 | uint16(value)
	}
	return unit, true
}
