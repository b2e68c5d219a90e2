package drivertest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// A placeholder is at a place that its secret may not have.
var errDenied = errors.New("denied")

const tokenBytes = len(prefix) + 25

// fill returns the request as the cloud sees it.
func (of *vault) fill(request driver.HTTPRequest, url driver.URL) (driver.HTTPRequest, error) {
	filled := driver.HTTPRequest{Method: request.Method, URL: request.URL, Header: driver.Header{}}
	if strings.Contains(url.PathWithQuery, prefix) || strings.Contains(url.Authority, prefix) {
		return filled, errDenied
	}
	for name, value := range request.Header {
		if strings.Contains(name, prefix) {
			return filled, errDenied
		}
		content, err := of.filled([]byte(value), Place{Header: name})
		if err != nil || bytes.ContainsAny(content, "\r\n\x00") {
			return filled, errDenied
		}
		filled.Header[name] = string(content)
	}
	body, err := of.filledBody(request.Body, filled.Header.Get("content-type"))
	filled.Body = body
	return filled, err
}

func (of *vault) filledBody(body []byte, contentType string) ([]byte, error) {
	if !bytes.Contains(body, []byte(prefix)) {
		return body, nil
	}
	kind, _, _ := strings.Cut(contentType, ";")
	switch kind = strings.ToLower(strings.TrimSpace(kind)); {
	case kind == "application/x-www-form-urlencoded":
		return of.filledForm(body)
	case kind != "" && !strings.Contains(kind, "json"):
		return nil, errDenied
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil, errDenied
	}
	value, err := of.filledJSON(value, "")
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

func (of *vault) filledForm(body []byte) ([]byte, error) {
	fields := bytes.Split(body, []byte("&"))
	for index, field := range fields {
		name, value, hasValue := bytes.Cut(field, []byte("="))
		plain, err := url.QueryUnescape(string(name))
		if err != nil || bytes.Contains(name, []byte(prefix)) {
			return nil, errDenied
		}
		if !hasValue {
			continue
		}
		filled, err := of.filled(value, Place{Form: plain})
		if err != nil {
			return nil, err
		}
		fields[index] = append(append(bytes.Clone(name), '='), filled...)
	}
	return bytes.Join(fields, []byte("&")), nil
}

func (of *vault) filledJSON(value any, pointer string) (any, error) {
	switch value := value.(type) {
	case map[string]any:
		for key, entry := range value {
			if strings.Contains(key, prefix) {
				return nil, errDenied
			}
			filled, err := of.filledJSON(entry, pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
			if err != nil {
				return nil, err
			}
			value[key] = filled
		}
	case []any:
		for index, entry := range value {
			number, _ := json.Marshal(index)
			filled, err := of.filledJSON(entry, pointer+"/"+string(number))
			if err != nil {
				return nil, err
			}
			value[index] = filled
		}
	case string:
		if !strings.Contains(value, prefix) {
			return value, nil
		}
		inside, err := of.filled([]byte(jsonEscaped(value)), Place{JSON: pointer})
		if err != nil {
			return nil, err
		}
		var text string
		// Otherwise the value would break out of the string: it needs another encoding.
		if json.Unmarshal([]byte(`"`+string(inside)+`"`), &text) != nil {
			return nil, errDenied
		}
		return text, nil
	}
	return value, nil
}

// filled replaces the placeholders of a text by values.
func (of *vault) filled(text []byte, at Place) ([]byte, error) {
	var filled []byte
	for {
		start := bytes.Index(text, []byte(prefix))
		if start < 0 {
			return append(filled, text...), nil
		}
		filled = append(filled, text[:start]...)
		token := text[start:min(start+tokenBytes, len(text))]
		known, is := of.expansions[string(token)]
		if !is || !of.isPlace(known.key, at) {
			return nil, errDenied
		}
		filled = append(filled, known.value...)
		text = text[start+len(token):]
	}
}

func (of *vault) isPlace(key string, at Place) bool {
	for _, place := range of.places[key] {
		isHeader := at.Header != "" && strings.EqualFold(place.Header, at.Header)
		if isHeader || (at.JSON != "" && place.JSON == at.JSON) || (at.Form != "" && place.Form == at.Form) {
			return true
		}
	}
	return false
}

func encoded(value []byte, encodings []driver.Encoding) ([]byte, bool) {
	for _, encoding := range encodings {
		switch encoding {
		case driver.Plain:
		case driver.Base64:
			value = []byte(base64.StdEncoding.EncodeToString(value))
		case driver.Form:
			value = []byte(url.QueryEscape(string(value)))
		case driver.JSONEscape:
			if !utf8.Valid(value) {
				return nil, false
			}
			value = []byte(jsonEscaped(string(value)))
		case driver.Gzip:
			var packed bytes.Buffer
			writer := gzip.NewWriter(&packed)
			if _, err := writer.Write(value); err != nil || writer.Close() != nil {
				return nil, false
			}
			value = packed.Bytes()
		default:
			return nil, false
		}
	}
	return value, true
}
