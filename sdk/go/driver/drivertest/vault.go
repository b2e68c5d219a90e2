package drivertest

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"sort"
	"strings"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

const (
	prefix                  = "x0machinist0secret0x"
	placeholdersPerCall     = 256
	encodingsPerPlaceholder = 4
	prefixBytes             = 64
	// Answers keep values that are shorter.
	scrubbedFromBytes = 8
)

// The secrets of one call, as the host keeps them: values inside, placeholders outside.
type vault struct {
	values   map[string][]byte
	userData []byte
	places   map[string][]Place
	revealed []string
	// By key and encodings.
	tokens map[string]string
	// By token.
	expansions map[string]expansion
}

type expansion struct {
	key   string
	value []byte
}

func newVault(host *Host, hasSecrets, hasUserData bool) *vault {
	of := &vault{
		values: map[string][]byte{}, places: host.Places, revealed: host.Revealed,
		tokens: map[string]string{}, expansions: map[string]expansion{},
	}
	if hasSecrets {
		for key, value := range host.Secrets {
			of.values[key] = []byte(value)
		}
	}
	if hasUserData {
		of.userData = []byte(host.UserData)
	}
	return of
}

func (of *vault) keys() []string {
	keys := make([]string, 0, len(of.values))
	for key := range of.values {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// scrub removes the values from an answer, in all spellings that clouds use.
func (of *vault) scrub(content []byte) []byte {
	var spellings [][]byte
	for key, value := range of.values {
		if !slices.Contains(of.revealed, key) {
			spellings = append(spellings, spellingsOf(value)...)
		}
	}
	if len(of.userData) > 0 && !slices.Contains(of.revealed, driver.UserDataKey) {
		spellings = append(spellings, spellingsOf(of.userData)...)
	}
	for _, sent := range of.expansions {
		if !slices.Contains(of.revealed, sent.key) {
			spellings = append(spellings, sent.value)
		}
	}
	sort.Slice(spellings, func(a, b int) bool { return len(spellings[a]) > len(spellings[b]) })
	for _, spelling := range spellings {
		if len(spelling) >= scrubbedFromBytes {
			content = bytes.ReplaceAll(content, spelling, []byte("***"))
		}
	}
	return content
}

func spellingsOf(value []byte) [][]byte {
	text := string(value)
	escaped, _ := json.Marshal(text)
	return [][]byte{
		value, escaped[1 : len(escaped)-1], []byte(jsonEscaped(text)),
		[]byte(driver.Escaped(text)), []byte(url.QueryEscape(text)),
		[]byte(base64.StdEncoding.EncodeToString(value)), []byte(base64.URLEncoding.EncodeToString(value)),
		[]byte(hex.EncodeToString(value)),
	}
}

// jsonEscaped returns the inside of a JSON string.
func jsonEscaped(text string) string {
	var written bytes.Buffer
	encoder := json.NewEncoder(&written)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(text) != nil {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(written.String()), `"`), `"`)
}

type secret struct {
	vault *vault
	key   string
	value []byte
}

func (of *secret) Len() int { return len(of.value) }

func (of *secret) StartsWith(start []byte) bool {
	return of.key == driver.UserDataKey && bytes.HasPrefix(of.value, start[:min(len(start), prefixBytes)])
}

func (of *secret) Placeholder(encodings ...driver.Encoding) (string, error) {
	refused := func(refusal driver.Refusal) error { return &driver.SecretRefused{Key: of.key, Refusal: refusal} }
	if len(of.vault.places[of.key]) == 0 {
		return "", refused(driver.NotGranted)
	}
	if len(encodings) > encodingsPerPlaceholder {
		return "", refused(driver.BadEncodings)
	}
	name := fmt.Sprint(of.key, encodings)
	if token, known := of.vault.tokens[name]; known {
		return token, nil
	}
	if len(of.vault.tokens) >= placeholdersPerCall {
		return "", refused(driver.TooMany)
	}
	value, fits := encoded(of.value, encodings)
	if !fits {
		return "", refused(driver.BadEncodings)
	}
	token := prefix + randomDigits(25)
	of.vault.tokens[name] = token
	of.vault.expansions[token] = expansion{of.key, value}
	return token, nil
}

func (of *secret) Reveal() ([]byte, error) {
	if !slices.Contains(of.vault.revealed, of.key) {
		return nil, &driver.SecretRefused{Key: of.key, Refusal: driver.NotGranted}
	}
	return bytes.Clone(of.value), nil
}

func randomDigits(count int) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	random := make([]byte, count)
	// Never fails: the program ends instead.
	_, _ = rand.Read(random)
	for index, value := range random {
		random[index] = digits[int(value)%len(digits)]
	}
	return string(random)
}
