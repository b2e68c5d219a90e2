package driver

import (
	"fmt"
	"strings"
	"time"
)

// Header holds the headers of a request or an answer: one value for each name.
type Header map[string]string

// Get returns the value of a header, by its name in any case; empty if there is none.
func (header Header) Get(name string) string {
	if value, found := header[name]; found {
		return value
	}
	for key, value := range header {
		if strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}

// HTTPRequest is a request. In header values and body, placeholders represent secrets.
type HTTPRequest struct {
	Method string
	URL    string
	Header Header
	Body   []byte
}

// HTTPAnswer is an answer, whatever its status. The host follows no redirect.
type HTTPAnswer struct {
	Status int
	Header Header
	Body   []byte
}

// IsSuccess is true for 200 to 299.
func (answer *HTTPAnswer) IsSuccess() bool { return answer.Status >= 200 && answer.Status < 300 }

// IsHTML is true for an HTML page, which proxies send instead of an API's answer.
func (answer *HTTPAnswer) IsHTML() bool {
	return strings.HasPrefix(answer.Header.Get("content-type"), "text/html")
}

// RetryAfter returns the time of `retry-after`, if it is a number of seconds.
func (answer *HTTPAnswer) RetryAfter() time.Duration {
	text := strings.TrimSpace(answer.Header.Get("retry-after"))
	// This many digits always fit into a duration.
	if text == "" || len(text) > 9 {
		return 0
	}
	seconds := 0
	for _, digit := range text {
		if digit < '0' || digit > '9' {
			return 0
		}
		seconds = seconds*10 + int(digit-'0')
	}
	return time.Duration(seconds) * time.Second
}

// The defaults suit an API that answers when the work is done: after this time it gives no answer at all.
const (
	answerTime  = 30 * time.Second
	connectTime = 10 * time.Second
	answerBytes = 8 << 20
	// Left for the work after an answer, and for the answer to the host.
	reserve = 250 * time.Millisecond
)

// Limits are the maximum time of one request and the maximum size of its answer. Zero is the default: 10 s to connect,
// 30 s for the answer and between its parts, 8 MiB. The call's deadline applies as well.
type Limits struct {
	Connect     time.Duration
	Answer      time.Duration
	AnswerBytes int
}

// within returns these limits, shortened to end before the call does, so that the call can report the failure.
func (limits Limits) within(remaining time.Duration) (Limits, bool) {
	left := remaining - reserve
	if left <= 0 {
		return limits, false
	}
	if limits.Connect <= 0 {
		limits.Connect = connectTime
	}
	if limits.Answer <= 0 {
		limits.Answer = answerTime
	}
	if limits.AnswerBytes <= 0 {
		limits.AnswerBytes = answerBytes
	}
	limits.Connect, limits.Answer = min(limits.Connect, left), min(limits.Answer, left)
	return limits, true
}

// URL holds the parts of a URL that a request needs.
type URL struct {
	IsTLS bool
	// Authority is host and port, as the host connects to them.
	Authority     string
	PathWithQuery string
}

// ParseURL parses a URL of HTTP. Its error is a *NoAnswer.
func ParseURL(text string) (URL, error) {
	rest, isTLS := strings.CutPrefix(text, "https://")
	if !isTLS {
		var isPlain bool
		if rest, isPlain = strings.CutPrefix(text, "http://"); !isPlain {
			return URL{}, &NoAnswer{Reason: BadURL, Host: "of the request"}
		}
	}
	authority, path := rest, "/"
	if at := strings.IndexAny(rest, "/?"); at >= 0 {
		authority, path = rest[:at], rest[at:]
	}
	if strings.HasPrefix(path, "?") {
		path = "/" + path
	}
	parsed := URL{IsTLS: isTLS, Authority: authority, PathWithQuery: path}
	for _, character := range []byte(text) {
		if character <= ' ' || character > '~' || character == '#' || character == '\\' {
			return URL{}, &NoAnswer{Reason: BadURL, Host: parsed.hostOr("of the request")}
		}
	}
	if authority == "" || strings.Contains(authority, "@") {
		return URL{}, &NoAnswer{Reason: BadURL, Host: "of the request"}
	}
	return parsed, nil
}

// Host returns the host without its port, as grants name it.
func (parsed URL) Host() string {
	at := strings.LastIndexByte(parsed.Authority, ':')
	if at < 0 || strings.Trim(parsed.Authority[at+1:], "0123456789") != "" {
		return parsed.Authority
	}
	return parsed.Authority[:at]
}

func (parsed URL) hostOr(other string) string {
	if host := parsed.Host(); host != "" {
		return Quoted(host)
	}
	return other
}

// Escaped escapes a segment of a path or a value of a query.
func Escaped(text string) string {
	var escaped strings.Builder
	for _, character := range []byte(text) {
		isLetter := (character|0x20) >= 'a' && (character|0x20) <= 'z'
		if isLetter || (character >= '0' && character <= '9') || strings.IndexByte("-_.~", character) >= 0 {
			escaped.WriteByte(character)
		} else {
			fmt.Fprintf(&escaped, "%%%02X", character)
		}
	}
	return escaped.String()
}
