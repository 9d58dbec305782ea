package fleet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// JoinName is the name of the file with which agents on other machines join a campaign.
const JoinName = "join.json"

// invitation lets an agent join a queue on another machine. It contains a secret.
type invitation struct {
	URL         string `json:"url"`
	Token       string `json:"token"`
	Certificate string `json:"certificate"` // PEM
}

// Secure creates a certificate and a token for a server that listens at a tls:// address, unless the user has given
// them. It writes join.json, with which agents join. A resumed campaign uses the same ones, so that its agents find it again.
func (l *Listen) Secure(dir string) error {
	u, err := url.Parse(l.URL)
	if err != nil || u.Scheme != "tls" || l.Cert != "" || l.Key != "" {
		return err
	}
	l.Cert, l.Key = filepath.Join(dir, "queue-certificate.pem"), filepath.Join(dir, "queue-key.pem")
	path := filepath.Join(dir, JoinName)
	if i, err := readInvitation(path); err == nil {
		l.token = i.Token
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	l.token = rand.Text()
	certificate, key, err := selfSigned(u.Hostname())
	if err != nil {
		return err
	}
	text, err := json.Marshal(invitation{l.URL, l.token, string(certificate)})
	return errors.Join(err, os.WriteFile(l.Cert, certificate, 0o600), os.WriteFile(l.Key, key, 0o600), os.WriteFile(path, append(text, '\n'), 0o600))
}

// forget removes what Secure wrote, which contains secrets, after the end of a campaign.
func (l *Listen) forget(dir string) error {
	if l.token == "" {
		return nil
	}
	var errs []error
	for _, file := range []string{filepath.Join(dir, JoinName), l.Cert, l.Key} {
		if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// selfSigned returns a certificate for a host, and its private key, in PEM. It is valid for a month.
func selfSigned(host string) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	about := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "lockbench"}, BasicConstraintsValid: true, IsCA: true,
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.AddDate(0, 1, 0), // clocks of hosts may differ
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if ip := net.ParseIP(host); ip != nil {
		about.IPAddresses = []net.IP{ip}
	} else {
		about.DNSNames = []string{host}
	}
	encoded, err := x509.CreateCertificate(rand.Reader, about, about, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: encoded}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), nil
}

// Invited returns the address in a join.json that a coordinator wrote.
func Invited(path string) (Address, error) {
	i, err := readInvitation(path)
	if err != nil {
		return Address{}, err
	}
	return Address{URL: i.URL, token: i.Token, certificates: []byte(i.Certificate)}, nil
}

func readInvitation(path string) (i invitation, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return i, err
	}
	if json.Unmarshal(text, &i) != nil || i.URL == "" || i.Token == "" || i.Certificate == "" {
		return i, fmt.Errorf("%s is no %s of a campaign", path, JoinName)
	}
	return i, nil
}
