package class

import "strings"

const labelBytes = 63

// IsLabelValue reports whether Hetzner accepts a text as the value of a label. Every other value is refused before a
// request: in a label selector, a comma or an exclamation mark would change the question.
func IsLabelValue(text string) bool {
	return text == "" || isName(text)
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
