package main

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

// lookAgain is how often the certificate's file is looked at.
const lookAgain = time.Minute

// certificate is a server's, of files that may change while it runs, and when it ends. The
// error is that of the first reading; later ones leave the certificate that there is.
func certificate(cert, key string) (config *tls.Config, ends func() time.Time, err error) {
	c := &changing{cert: cert, key: key}
	if _, err := c.get(nil); err != nil {
		return nil, nil, err
	}
	return &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS13}, c.ends, nil
}

// ends is when the certificate does that is served now.
func (c *changing) ends() time.Time {
	if held, err := c.get(nil); err == nil && held.Leaf != nil {
		return held.Leaf.NotAfter
	}
	return time.Time{}
}

type changing struct {
	cert, key string

	mu     sync.Mutex
	held   *tls.Certificate
	made   time.Time // of the file
	looked time.Time
}

func (c *changing) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held != nil && time.Since(c.looked) < lookAgain {
		return c.held, nil
	}
	c.looked = time.Now()
	info, err := os.Stat(c.cert)
	if err == nil && c.held != nil && info.ModTime().Equal(c.made) {
		return c.held, nil
	}
	pair, err2 := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil || err2 != nil {
		if c.held != nil {
			return c.held, nil
		}
		return nil, fmt.Errorf("reading the certificate: %w", err2)
	}
	c.held, c.made = &pair, info.ModTime()
	return c.held, nil
}
