package setting

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// FileName is the file that makes a folder a configuration.
const FileName = "writ.yaml"

// Configuration is which configuration was taken, and why.
type Configuration struct {
	Dir      string // absolute, without symbolic links; "" when embedded
	Reason   string // for people: "--config", "WRIT_CONFIG", …
	Embedded bool   // the packs in the binary
}

// File is the path of writ.yaml, or its name when embedded.
func (c Configuration) File() string { return filepath.Join(c.Dir, FileName) }

// Lookup is what Find looks at.
type Lookup struct {
	Flag    string // of --config; "" when it was not given
	Environ []string
	// Current is the current folder; "" for writ stdio, which never reads it,
	// because clients start it in the folders of strangers.
	Current string
}

// Find says which configuration holds: --config, else WRIT_CONFIG, else the
// current folder if it holds writ.yaml, else $XDG_CONFIG_HOME/writ, else the
// packs in the binary. A folder that was named must be a configuration.
func Find(l Lookup) (Configuration, error) {
	if l.Flag != "" {
		return named(l.Flag, "--config")
	}
	if dir, set := lookupVariable(l.Environ, ConfigVariable); set {
		if dir == "" {
			return Configuration{}, fmt.Errorf("%s is set but empty: unset it, or name a folder", ConfigVariable)
		}
		return named(dir, ConfigVariable)
	}
	places := []struct{ dir, reason string }{
		{l.Current, "the current folder holds " + FileName},
		{userFolder(l.Environ, "XDG_CONFIG_HOME", ".config", "APPDATA"), "the configuration of this user"},
	}
	if places[1].dir != "" {
		places[1].dir = filepath.Join(places[1].dir, "writ")
	}
	for _, place := range places {
		if place.dir == "" {
			continue
		}
		held, err := holds(place.dir)
		if err != nil {
			return Configuration{}, err
		}
		if held {
			return named(place.dir, place.reason)
		}
	}
	return Configuration{Embedded: true, Reason: "no configuration was found; these are the packs in the binary"}, nil
}

func named(dir, reason string) (Configuration, error) {
	absolute, err := filepath.Abs(dir)
	if err == nil {
		absolute, err = filepath.EvalSymlinks(absolute)
	}
	if err != nil {
		return Configuration{}, fmt.Errorf("configuration folder (%s): %w", reason, err)
	}
	info, err := os.Stat(absolute)
	if err != nil {
		return Configuration{}, fmt.Errorf("configuration folder (%s): %w", reason, err)
	}
	if !info.IsDir() {
		return Configuration{}, fmt.Errorf("configuration (%s): %s is a file: name the folder that holds it", reason, dir)
	}
	held, err := holds(absolute)
	if err != nil {
		return Configuration{}, err
	}
	if !held {
		return Configuration{}, fmt.Errorf("configuration (%s): %s holds no %s: run writ init %s", reason, dir, FileName, dir)
	}
	return Configuration{Dir: absolute, Reason: reason}, nil
}

// holds fails when it cannot be known, so that a folder that became unreadable
// is not taken for one that is not there.
func holds(dir string) (bool, error) {
	_, err := os.Stat(filepath.Join(dir, FileName))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	}
	return false, fmt.Errorf("configuration: %w", err)
}

// StateDir is the folder of state: what the settings say, or else
// $XDG_STATE_HOME/writ and a short digest of the configuration's path, so that
// two configurations never share their state.
func StateDir(s *Settings, c Configuration, environ []string) (string, error) {
	if s.StateDir != "" {
		return filepath.Abs(s.StateDir)
	}
	base := userFolder(environ, "XDG_STATE_HOME", filepath.Join(".local", "state"), "LOCALAPPDATA")
	if base == "" {
		return "", errors.New("neither XDG_STATE_HOME nor a home folder is known: name a folder with --state-dir")
	}
	name := "embedded"
	if !c.Embedded {
		sum := sha256.Sum256([]byte(c.Dir))
		name = hex.EncodeToString(sum[:6])
	}
	return filepath.Join(base, "writ", name), nil
}

// userFolder follows the XDG rules: a relative path counts as none.
func userFolder(environ []string, variable, below, windows string) string {
	if dir, _ := lookupVariable(environ, variable); filepath.IsAbs(dir) {
		return dir
	}
	if runtime.GOOS == "windows" {
		dir, _ := lookupVariable(environ, windows)
		return dir
	}
	if home, _ := lookupVariable(environ, "HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, below)
	}
	return ""
}

func lookupVariable(environ []string, name string) (text string, set bool) {
	for _, pair := range environ {
		if rest, ok := strings.CutPrefix(pair, name+"="); ok {
			text, set = rest, true
		}
	}
	return text, set
}

// Token is the value of WRIT_TOKEN, and whether it is set at all.
func Token(environ []string) (token string, set bool) {
	return lookupVariable(environ, TokenVariable)
}
