// Package logging converts records of log/slog to lines of the host's log.
package logging

import (
	"context"
	"log/slog"
	"strings"
)

// Trace is below Debug.
const Trace = slog.LevelDebug - 4

// Level is a level of the contract, in its order.
type Level uint8

// The levels of the contract.
const (
	LevelTrace Level = iota
	LevelDebug
	LevelInfo
	LevelWarn
	LevelError
)

// Field is a value that varies in a line.
type Field struct{ Name, Value string }

// Sink receives lines.
type Sink interface {
	Enabled(level Level) bool
	Emit(level Level, message string, fields []Field)
}

// New returns a logger that writes into the sink.
func New(sink Sink) *slog.Logger { return slog.New(&handler{sink: sink}) }

type handler struct {
	sink   Sink
	fields []Field
	prefix string
}

func levelOf(level slog.Level) Level {
	switch {
	case level >= slog.LevelError:
		return LevelError
	case level >= slog.LevelWarn:
		return LevelWarn
	case level >= slog.LevelInfo:
		return LevelInfo
	case level >= slog.LevelDebug:
		return LevelDebug
	default:
		return LevelTrace
	}
}

func (of *handler) Enabled(_ context.Context, level slog.Level) bool {
	return of.sink.Enabled(levelOf(level))
}

func (of *handler) Handle(_ context.Context, record slog.Record) error {
	fields := of.fields[:len(of.fields):len(of.fields)]
	record.Attrs(func(attribute slog.Attr) bool {
		fields = appended(fields, of.prefix, attribute)
		return true
	})
	of.sink.Emit(levelOf(record.Level), strings.ToValidUTF8(record.Message, "\uFFFD"), fields)
	return nil
}

func (of *handler) WithAttrs(attributes []slog.Attr) slog.Handler {
	fields := of.fields[:len(of.fields):len(of.fields)]
	for _, attribute := range attributes {
		fields = appended(fields, of.prefix, attribute)
	}
	return &handler{of.sink, fields, of.prefix}
}

func (of *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return of
	}
	return &handler{of.sink, of.fields, of.prefix + name + "."}
}

func appended(fields []Field, prefix string, attribute slog.Attr) []Field {
	value := attribute.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		if attribute.Key != "" {
			prefix += attribute.Key + "."
		}
		for _, inner := range value.Group() {
			fields = appended(fields, prefix, inner)
		}
		return fields
	}
	if attribute.Equal(slog.Attr{}) {
		return fields
	}
	return append(fields, Field{sound(prefix + attribute.Key), sound(value.String())})
}

func sound(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// SlogOf converts a level to log/slog.
func SlogOf(level Level) slog.Level {
	switch level {
	case LevelError:
		return slog.LevelError
	case LevelWarn:
		return slog.LevelWarn
	case LevelInfo:
		return slog.LevelInfo
	case LevelDebug:
		return slog.LevelDebug
	default:
		return Trace
	}
}
