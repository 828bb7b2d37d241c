package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// sums writes the checksums of all files, and their signature: of ECDSA over SHA-256 in
// base64, which openssl dgst -verify and cosign verify-blob both take.
func (r *release) sums() error {
	files, err := filepath.Glob(r.path("*")) // sorted
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(content), filepath.Base(file))
	}
	if err := os.WriteFile(r.path("SHA256SUMS"), []byte(list.String()), 0o644); err != nil {
		return err
	}
	if r.key == "" {
		fmt.Fprintln(os.Stderr, "dist: no -key, so the checksums are not signed, and install.sh of this release installs them with --unsigned only")
		return nil
	}
	key, err := privateKey(r.key)
	if err != nil {
		return err
	}
	digest := sha256.Sum256([]byte(list.String()))
	signature, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
	if err != nil {
		return err
	}
	return os.WriteFile(r.path("SHA256SUMS.sig"), []byte(base64.StdEncoding.EncodeToString(signature)+"\n"), 0o644)
}

func privateKey(file string) (*ecdsa.PrivateKey, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for block, rest := pem.Decode(b); block != nil; block, rest = pem.Decode(rest) {
		if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
			return checked(key, file)
		}
		if any, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if key, ok := any.(*ecdsa.PrivateKey); ok {
				return checked(key, file)
			}
		}
	}
	return nil, fmt.Errorf("%s holds no EC key: openssl ecparam -name prime256v1 -genkey -noout makes one", file)
}

func checked(key *ecdsa.PrivateKey, file string) (*ecdsa.PrivateKey, error) {
	if key.Curve != elliptic.P256() {
		return nil, errors.New(file + ": a key on P-256 is needed, which every openssl knows")
	}
	return key, nil
}

// publicKey is the key's other half, as PEM.
func publicKey(file string) (string, error) {
	key, err := privateKey(file)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), nil
}
