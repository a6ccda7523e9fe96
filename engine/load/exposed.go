package load

import (
	"os"

	"github.com/writ-dev/writ/engine/diag"
)

// Exposed reports which of these files and folders other users can write, for
// what belongs to a configuration beside its documents. What is missing is not
// exposed.
func Exposed(paths ...string) diag.List {
	s := &search{}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			s.folders = append(s.folders, folder{path, info})
		}
	}
	return s.exposed()
}
