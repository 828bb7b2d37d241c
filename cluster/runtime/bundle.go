package runtime

import (
	"archive/zip"
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Sums is the entry of a binary's own archive that lists the others, as sha256sum does.
const Sums = "SHA256SUMS"

// unpackHelpers takes the helper programs out of the binary, where it has them: a
// released one ends with an archive of them (deploy/bundle). What is in dir already is
// hashed and left when it is the same. found says whether it has any.
func unpackHelpers(executable, dir string) (found bool, err error) {
	archive, err := zip.OpenReader(executable)
	if errors.Is(err, zip.ErrFormat) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("helper programs in %s: %w", executable, err)
	}
	defer archive.Close()
	list, err := archive.Open(Sums)
	if err != nil {
		return false, nil // somebody else's archive
	}
	defer list.Close()
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if !ok || !filepath.IsLocal(name) {
			return true, fmt.Errorf("helper programs in %s: %q is no line of %s", executable, lines.Text(), Sums)
		}
		if err := unpackHelper(&archive.Reader, name, sum, filepath.Join(dir, name)); err != nil {
			return true, fmt.Errorf("helper program %s: %w", name, err)
		}
	}
	return true, lines.Err()
}

// carriesHelpers says whether the binary ends with an archive of them.
func carriesHelpers(executable string) bool { return carries(executable, Sums) }

// carries says whether the binary ends with an archive that has that entry.
func carries(executable, name string) bool {
	archive, err := zip.OpenReader(executable)
	if err != nil {
		return false
	}
	defer archive.Close()
	entry, err := archive.Open(name)
	if err == nil {
		_ = entry.Close()
	}
	return err == nil
}

// unpackHelper writes one, unless it is there. One that runs is replaced, not written to.
func unpackHelper(archive *zip.Reader, name, sum, to string) error {
	if have, err := fileSum(to); err == nil && have == sum {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	from, err := archive.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	out, err := os.OpenFile(to+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	if have, err := fileSum(to + ".new"); err != nil || have != sum {
		return errors.Join(errors.New("what was unpacked is not what was packed"), err)
	}
	return os.Rename(to+".new", to)
}

func fileSum(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
