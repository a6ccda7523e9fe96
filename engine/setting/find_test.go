package setting_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/setting"
)

func folder(t *testing.T, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, setting.FileName), []byte("version: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFind(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	flag, variable, current, user := folder(t, top, "flag"), folder(t, top, "variable"), folder(t, top, "current"), folder(t, top, "xdg", "writ")
	xdg, empty := "XDG_CONFIG_HOME="+filepath.Join(top, "xdg"), t.TempDir()
	link := filepath.Join(top, "link")
	if err := os.Symlink(flag, link); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		lookup setting.Lookup
		dir    string
		reason string
	}{
		"flag":      {setting.Lookup{Flag: link, Environ: []string{"WRIT_CONFIG=" + variable, xdg}, Current: current}, flag, "--config"},
		"variable":  {setting.Lookup{Environ: []string{"WRIT_CONFIG=" + variable, xdg}, Current: current}, variable, "WRIT_CONFIG"},
		"current":   {setting.Lookup{Environ: []string{xdg}, Current: current}, current, "the current folder"},
		"stdio":     {setting.Lookup{Environ: []string{xdg}}, user, "this user"},
		"user":      {setting.Lookup{Environ: []string{xdg}, Current: empty}, user, "this user"},
		"home":      {setting.Lookup{Environ: []string{"HOME=" + empty}, Current: empty}, "", "in the binary"},
		"no home":   {setting.Lookup{Current: empty}, "", "in the binary"},
		"relative":  {setting.Lookup{Environ: []string{"XDG_CONFIG_HOME=xdg"}, Current: empty}, "", "in the binary"},
		"last wins": {setting.Lookup{Environ: []string{"WRIT_CONFIG=/nowhere", "WRIT_CONFIG=" + variable}}, variable, "WRIT_CONFIG"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := setting.Find(tt.lookup)
			if err != nil {
				t.Fatal(err)
			}
			if got.Dir != tt.dir || !strings.Contains(got.Reason, tt.reason) || got.Embedded != (tt.dir == "") {
				t.Errorf("Find = %+v, want %s because of %s", got, tt.dir, tt.reason)
			}
		})
	}
	for name, tt := range map[string]struct {
		lookup setting.Lookup
		want   string
	}{
		"missing":        {setting.Lookup{Flag: filepath.Join(top, "nowhere")}, "--config"},
		"empty folder":   {setting.Lookup{Flag: empty}, "run writ init"},
		"a file":         {setting.Lookup{Flag: filepath.Join(flag, setting.FileName)}, "name the folder that holds it"},
		"empty variable": {setting.Lookup{Environ: []string{"WRIT_CONFIG="}, Current: current}, "is set but empty"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := setting.Find(tt.lookup); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Find = %+v, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestStateDir(t *testing.T) {
	environ := []string{"XDG_STATE_HOME=/state", "HOME=/home/ann"}
	one, err := setting.StateDir(&setting.Settings{}, setting.Configuration{Dir: "/a"}, environ)
	if err != nil {
		t.Fatal(err)
	}
	two, err := setting.StateDir(&setting.Settings{}, setting.Configuration{Dir: "/b"}, environ)
	if err != nil {
		t.Fatal(err)
	}
	if one == two || filepath.Dir(one) != filepath.FromSlash("/state/writ") {
		t.Errorf("%s and %s", one, two)
	}
	if got, _ := setting.StateDir(&setting.Settings{}, setting.Configuration{Embedded: true}, environ); got != filepath.FromSlash("/state/writ/embedded") {
		t.Errorf("embedded: %s", got)
	}
	if got, _ := setting.StateDir(&setting.Settings{StateDir: "/mine"}, setting.Configuration{Dir: "/a"}, nil); got != filepath.FromSlash("/mine") {
		t.Errorf("named: %s", got)
	}
	if _, err := setting.StateDir(&setting.Settings{}, setting.Configuration{Dir: "/a"}, nil); err == nil || !strings.Contains(err.Error(), "--state-dir") {
		t.Errorf("no home: %v", err)
	}
}
