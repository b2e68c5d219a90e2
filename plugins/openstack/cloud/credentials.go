package cloud

import "github.com/machinist-dev/machinist/sdk/go/driver"

// checkCredentials returns an error that names a missing key of the Secret, and a hint for failures of TLS. The driver
// sees keys and lengths, never values.
func checkCredentials(host *driver.Host) (string, error) {
	keys, err := host.SecretKeys()
	if err != nil {
		return "", err
	}
	has := map[string]bool{}
	for _, key := range keys {
		secret, err := host.OptionalSecret(key)
		if err != nil {
			return "", err
		}
		has[key] = secret != nil && secret.Len() > 0
	}
	if missing := missingIn(has); missing != "" {
		return "", &driver.Error{Code: driver.Unauthenticated, Terminal: true,
			Message: "the MachineClass's Secret has no usable login for OpenStack: add " + missing}
	}
	return tlsHint(has), nil
}

// tlsHint follows the message of a failure of TLS.
func tlsHint(has map[string]bool) string {
	const clock = "; a certificate counts only between two times, so check the host's clock too"
	if has["caCert"] {
		return "; with caCert in the MachineClass's Secret no other authority counts" + clock
	}
	return ", or into caCert of the MachineClass's Secret" + clock
}

// missingIn returns what is missing for a login; empty if nothing is.
func missingIn(has map[string]bool) string {
	hasDomain := has["domainName"] || has["domainID"]
	hasUser := has["username"] && (hasDomain || has["userDomainName"] || has["userDomainID"])
	switch {
	case !has["authURL"]:
		return "authURL, the URL of Keystone"
	case has["applicationCredentialSecret"] && has["applicationCredentialID"]:
		return ""
	case has["applicationCredentialSecret"] && has["applicationCredentialName"] && hasUser:
		return ""
	case has["applicationCredentialSecret"]:
		return "applicationCredentialID, or applicationCredentialName with username and domainName"
	case !has["password"]:
		return "username and password, or applicationCredentialID and applicationCredentialSecret"
	case !hasUser:
		return "username, and domainName or domainID"
	case !has["tenantID"] && !has["tenantName"]:
		return "tenantName or tenantID"
	case !has["tenantID"] && !hasDomain:
		return "domainName or domainID, the domain of the project"
	}
	return ""
}
