package mcpserver

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
)

// Build tells which code runs (S-27). What is not known is null; equal
// versions do not prove equal code, equal sums do.
type Build struct {
	Version  string  `json:"version"`
	Revision *string `json:"revision"` // of the source, as git names it
	Dirty    *bool   `json:"dirty"`    // the source had changes that were not committed
	Time     *string `json:"time"`     // of the revision
	Go       string  `json:"go"`
	Target   string  `json:"target"`
	SHA256   *string `json:"sha256"` // of the running executable
}

// readBuild reads the executable once; callers keep what it returns.
func readBuild(version string) Build {
	b := Build{Version: version, Go: runtime.Version(), Target: runtime.GOOS + "/" + runtime.GOARCH, SHA256: executableSum()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Revision = &setting.Value
		case "vcs.time":
			b.Time = &setting.Value
		case "vcs.modified":
			if dirty, err := strconv.ParseBool(setting.Value); err == nil {
				b.Dirty = &dirty
			}
		}
	}
	return b
}

// executableSum reads what runs, not what replaced it on disk, where the
// system can tell.
func executableSum() *string {
	path := "/proc/self/exe"
	if runtime.GOOS != "linux" {
		var err error
		if path, err = os.Executable(); err != nil {
			return nil
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return nil
	}
	text := hex.EncodeToString(sum.Sum(nil))
	return &text
}
