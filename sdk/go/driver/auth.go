package driver

import "strings"

// AuthHeader is the header by which a driver asks the host to authenticate a request. Its value is a mark, one of those
// below. The host removes the header. It signs the request or adds the scheme's header, with the keys of the Secret and
// where the plugin's grants allow it.
const AuthHeader = "machinist-auth"

const (
	// AuthBearer adds a value of the Secret as a bearer token, or in the header that the grants name.
	AuthBearer = "bearer"
	// AuthBasic adds name and password of the Secret.
	AuthBasic = "basic"
	// AuthClientCertificate shows the certificate of the Secret in TLS. The request must be over https.
	AuthClientCertificate = "client-certificate"
	// AuthKeystone adds a token of OpenStack's identity service.
	AuthKeystone = "keystone"
)

// AuthAWSSigV4 signs the request by AWS Signature Version 4.
func AuthAWSSigV4(service, region string) string {
	return "aws-sigv4; service=" + service + "; region=" + region
}

// AuthOAuth2ClientCredentials adds a token that the host fetches for a client, which proves itself by its secret, its
// certificate, or the token in a file, as the Secret has it. Scopes are optional.
func AuthOAuth2ClientCredentials(scopes ...string) string {
	return scoped("oauth2-client-credentials", scopes)
}

// AuthJWTBearer adds a token that the host fetches for an assertion that it signs, such as for a service account of
// Google, or for the token in a file of an external account. Scopes are optional.
func AuthJWTBearer(scopes ...string) string {
	return scoped("jwt-bearer", scopes)
}

func scoped(scheme string, scopes []string) string {
	if len(scopes) == 0 {
		return scheme
	}
	return scheme + "; scope=" + strings.Join(scopes, " ")
}
