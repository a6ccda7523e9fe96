package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// starter is what init writes.
//
//go:embed starter
var starter embed.FS

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init DIR",
		Short: "Write a small configuration of your own",
		Long: `Writes a small commented configuration: writ.yaml, two tools, a rule, a policy,
tests of them, and a folder that the tools may read. It overwrites nothing: if
one of the files is there already, none is written.`,
		Example: `  writ init mytools
  writ check --config mytools
  writ test --config mytools
  writ serve --config mytools`,
		Args: positional(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			written, err := a.initialise(args[0])
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"written": written})
			}
			for _, path := range written {
				fmt.Fprintln(a.out, path)
			}
			fmt.Fprintf(a.out, "\nNow run: writ serve --config %s\n", args[0])
			return nil
		},
	}
}

// initialise writes the starter to a folder, all of it or nothing.
func (a *app) initialise(dir string) (written []string, err error) {
	err = a.eachStarter(dir, func(_, target string) error {
		if _, err := os.Lstat(target); err == nil {
			return fmt.Errorf("%s is there already, and nothing was written: choose a new folder", target)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look at the folder: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = a.eachStarter(dir, func(name, target string) error {
		data, err := starter.ReadFile(name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(target), 0o755)
		}
		if err == nil {
			err = create(target, data)
		}
		if err != nil {
			return fmt.Errorf("write the configuration: %w", err)
		}
		written = append(written, target)
		return nil
	})
	return written, err
}

func (a *app) eachStarter(dir string, do func(name, target string) error) error {
	return fs.WalkDir(starter, "starter", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return do(name, filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(name, "starter/"))))
	})
}

// create writes a file that is not there yet. Nobody else may write it,
// whatever the mask of the process says: Writ would not trust it.
func create(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}
