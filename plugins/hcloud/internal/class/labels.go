package class

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	labelBytes = 63
	// Of the digest in a label: 128 bits, so that nobody finds a second text with the same label.
	digestBytes = 16
)

// IsLabelValue reports whether Hetzner accepts a text as the value of a label. Every other value is refused before a
// request: in a label selector, a comma or an exclamation mark would change the question.
func IsLabelValue(text string) bool {
	return text == "" || isName(text)
}

// Label returns the label's value for a text: the text, or, if Hetzner does not accept it, its letters and digits as
// far as there is room, and a digest. Cluster API's clusters have such marks: their namespace, a slash, and their name.
func Label(text string) string {
	if IsLabelValue(text) {
		return text
	}
	digest := sha256.Sum256([]byte(text))
	end := hex.EncodeToString(digest[:digestBytes])
	readable := strings.Map(func(character rune) rune {
		if character < 0x80 && isAlphanumeric(byte(character)) {
			return character
		}
		return '-'
	}, text)
	readable = strings.TrimLeft(readable, "-")
	if room := labelBytes - len(end) - 1; len(readable) > room {
		readable = readable[:room]
	}
	if readable == "" {
		return end
	}
	return readable + "." + end
}

// isLabelKey reports whether Hetzner accepts a text as the key of a label: a name, after an optional domain and a
// slash.
func isLabelKey(text string) bool {
	domain, name, hasDomain := strings.Cut(text, "/")
	if !hasDomain {
		return isName(text)
	}
	if domain == "" || len(domain) > 253 {
		return false
	}
	for _, part := range strings.Split(domain, ".") {
		if !isName(part) || strings.ContainsAny(part, "_ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			return false
		}
	}
	return isName(name)
}

func isName(text string) bool {
	if text == "" || len(text) > labelBytes {
		return false
	}
	for index := range len(text) {
		isInside := index > 0 && index < len(text)-1
		if !isAlphanumeric(text[index]) && !(isInside && strings.IndexByte("-_.", text[index]) >= 0) {
			return false
		}
	}
	return true
}

func isAlphanumeric(character byte) bool {
	isLetter := (character|0x20) >= 'a' && (character|0x20) <= 'z'
	return isLetter || (character >= '0' && character <= '9')
}
