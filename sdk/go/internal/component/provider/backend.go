//go:build wasip1

package provider

import (
	"log/slog"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/internal/bindings/provider/machinist_host_deadline"
	"github.com/machinist-dev/machinist/sdk/go/internal/bindings/provider/machinist_host_log"
	"github.com/machinist-dev/machinist/sdk/go/internal/bindings/provider/machinist_host_secrets"
	"github.com/machinist-dev/machinist/sdk/go/internal/bindings/provider/machinist_host_settings"
	"github.com/machinist-dev/machinist/sdk/go/internal/logging"
	"github.com/machinist-dev/machinist/sdk/go/internal/wit/types"
)

// backend calls the imports of the world.
type backend struct{ log *slog.Logger }

func newBackend() *backend { return &backend{logging.New(sink{})} }

func (*backend) SecretKeys() []string     { return machinist_host_secrets.Keys() }
func (*backend) Settings() string         { return machinist_host_settings.Get() }
func (*backend) Remaining() time.Duration { return duration(machinist_host_deadline.RemainingMs()) }
func (of *backend) Log() *slog.Logger     { return of.log }

func (*backend) OpenSecret(key string) driver.Secret {
	return secretOf(key, machinist_host_secrets.Open(key))
}

func (*backend) UserData() driver.Secret {
	return secretOf(driver.UserDataKey, machinist_host_secrets.UserData())
}

func secretOf(key string, handle types.Option[*machinist_host_secrets.Secret]) driver.Secret {
	if open, is := handle.Get(); is {
		return secret{key, open}
	}
	return nil
}

type secret struct {
	key    string
	handle *machinist_host_secrets.Secret
}

func (of secret) Len() int                      { return int(of.handle.Length()) }
func (of secret) StartsWith(prefix []byte) bool { return of.handle.StartsWith(prefix) }

func (of secret) Placeholder(encodings ...driver.Encoding) (string, error) {
	numbers := make([]machinist_host_secrets.Encoding, 0, len(encodings))
	for _, encoding := range encodings {
		if encoding > driver.Gzip {
			return "", &driver.SecretRefused{Key: of.key, Refusal: driver.BadEncodings}
		}
		numbers = append(numbers, machinist_host_secrets.Encoding(encoding))
	}
	token := of.handle.Placeholder(numbers)
	if token.IsErr() {
		return "", of.refused(token.Err())
	}
	return token.Ok(), nil
}

func (of secret) Reveal() ([]byte, error) {
	value := of.handle.Reveal()
	if value.IsErr() {
		return nil, of.refused(value.Err())
	}
	return value.Ok(), nil
}

func (of secret) refused(refusal machinist_host_secrets.Refusal) error {
	return &driver.SecretRefused{Key: of.key, Refusal: driver.Refusal(refusal)}
}

type sink struct{}

func (sink) Enabled(level logging.Level) bool { return machinist_host_log.Enabled(uint8(level)) }

func (sink) Emit(level logging.Level, message string, fields []logging.Field) {
	pairs := make([]types.Tuple2[string, string], len(fields))
	for index, field := range fields {
		pairs[index] = types.Tuple2[string, string]{F0: field.Name, F1: field.Value}
	}
	machinist_host_log.Emit(uint8(level), message, pairs)
}
