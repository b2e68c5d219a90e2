package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/machinist-dev/machinist/sdk/go/internal/text"
)

// Settings holds the operator's fields. Read each once; Done refuses the others. The first error is kept.
type Settings struct {
	fields map[string]json.RawMessage
	known  []string
	fault  error
}

// ReadSettings parses a JSON object.
func ReadSettings(source string) *Settings {
	settings := &Settings{}
	var value any
	if err := text.ReadJSON([]byte(source), &value); err != nil {
		settings.fault = fmt.Errorf("invalid: they are %w", err)
	} else if text.ReadJSON([]byte(source), &settings.fields) != nil || settings.fields == nil {
		settings.fault = fmt.Errorf("invalid: they must be a JSON object")
	}
	return settings
}

// Whole returns a whole number within a range.
func (settings *Settings) Whole(name string, otherwise, least, most int64) int64 {
	value := settings.take(name)
	if value == nil {
		return otherwise
	}
	number, err := strconv.ParseInt(string(value), 10, 64)
	switch {
	case err != nil:
		settings.wrong("%s must be a whole number, got %s", name, shown(value))
	case number < least || number > most:
		settings.wrong("%s is %d, and must be from %d to %d", name, number, least, most)
	}
	return number
}

// Text returns a text.
func (settings *Settings) Text(name, otherwise string) string {
	value := settings.take(name)
	if value != nil && json.Unmarshal(value, &otherwise) != nil {
		settings.wrong("%s must be a text, got %s", name, shown(value))
	}
	return otherwise
}

// Texts returns a list of texts.
func (settings *Settings) Texts(name string, otherwise []string) []string {
	value := settings.take(name)
	if value == nil {
		return otherwise
	}
	var list []*string
	if json.Unmarshal(value, &list) != nil || list == nil {
		settings.wrong("%s must be a list of texts, got %s", name, shown(value))
		return otherwise
	}
	texts := []string{}
	for _, entry := range list {
		if entry == nil {
			settings.wrong("%s must be a list of texts, got %s", name, shown(value))
			return otherwise
		}
		texts = append(texts, *entry)
	}
	return texts
}

// Is returns a boolean.
func (settings *Settings) Is(name string, otherwise bool) bool {
	value := settings.take(name)
	if value != nil && (json.Unmarshal(value, &otherwise) != nil || string(value) == "null") {
		settings.wrong("%s must be true or false, got %s", name, shown(value))
	}
	return otherwise
}

// Done returns the error, after all fields are read. An unread field is a mistake.
func (settings *Settings) Done() error {
	if settings.fault != nil {
		return settings.fault
	}
	// Fields that were read are gone. The first one by name, so that the text is the same each time.
	stray := ""
	for name := range settings.fields {
		if stray == "" || name < stray {
			stray = name
		}
	}
	if len(settings.fields) > 0 {
		return fmt.Errorf("%s is no setting; there are %s", text.Quoted(stray), strings.Join(settings.known, ", "))
	}
	return nil
}

func (settings *Settings) take(name string) json.RawMessage {
	settings.known = append(settings.known, name)
	value := settings.fields[name]
	delete(settings.fields, name)
	return value
}

func (settings *Settings) wrong(format string, of ...any) {
	if settings.fault == nil {
		settings.fault = fmt.Errorf(format, of...)
	}
}

func shown(value json.RawMessage) string {
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return "something else"
	}
	return text.Quoted(compact.String())
}
