// Package text reads what others wrote.
package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The most that a message repeats of what somebody else wrote.
const quotedCharacters = 200

// How deep arrays and objects may be nested.
const mostLevels = 127

// Quoted is at most so much of a foreign text, in one line.
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

// NotJSON says where a text stops being JSON. IsCutOff: the beginning might be, so that the rest is missing.
type NotJSON struct {
	Line, Column int
	IsCutOff     bool
}

// Error says where.
func (err *NotJSON) Error() string {
	return fmt.Sprintf("not JSON (line %d, column %d)", err.Line, err.Column)
}

// ReadJSON reads JSON as json.Unmarshal does, but for numbers in an `any`, which are of type json.Number.
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

// Where a text stops being JSON, and whether that is its end.
func firstFault(source []byte) (at int, isCutOff bool) {
	// This byte is wrong wherever it stands: only a text that is right up to its end comes so far. Without it, the end of a number or
	// a word reads like a fault.
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

// Where there is something that encoding/json would take: too many levels, half of a surrogate pair, what is not UTF-8. -1: nowhere.
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

// Bytes of the first character, 0 when it is none. One that the end of the text cuts off is left for the reader.
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

// Bytes behind the backslash that belong to the escape, and whether it is half of a surrogate pair.
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
	// What is missing at the end of the text is found by the reader.
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
