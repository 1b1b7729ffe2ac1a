package rig

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates for one test.
type Authority struct {
	File string // its own certificate, in PEM

	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority keeps its files in a folder that goes with the test.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{dir: t.TempDir()}
	a.cert = &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority of a test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.key, a.cert = a.sign(t, a.cert)
	a.File = a.write(t, "ca.pem", "CERTIFICATE", a.cert.Raw)
	return a
}

// Issue returns the files of a certificate for name, as a server on 127.0.0.1 or as a client, and of its key.
func (a *Authority) Issue(t testing.TB, name string) (cert, key string) {
	t.Helper()
	private, signed := a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return a.write(t, name+".pem", "CERTIFICATE", signed.Raw), a.write(t, name+".key", "EC PRIVATE KEY", der)
}

func (a *Authority) sign(t testing.TB, template *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, by := a.cert, a.key
	if by == nil {
		by = key // it signs itself
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return key, cert
}

func (a *Authority) write(t testing.TB, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
