//go:build warm

package warm

import (
	_ "cuelang.org/go/cue/cuecontext"
	_ "cuelang.org/go/encoding/jsonschema"
	_ "cuelang.org/go/cue/load"
	_ "cuelang.org/go/encoding/json"
	_ "cuelang.org/go/encoding/yaml"
	_ "github.com/expr-lang/expr"
	_ "github.com/fsnotify/fsnotify"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/knadh/koanf/v2"
	_ "github.com/knadh/koanf/parsers/yaml"
	_ "github.com/knadh/koanf/providers/confmap"
	_ "github.com/knadh/koanf/providers/env/v2"
	_ "github.com/knadh/koanf/providers/posflag"
	_ "github.com/knadh/koanf/providers/rawbytes"
	_ "github.com/modelcontextprotocol/go-sdk/auth"
	_ "github.com/modelcontextprotocol/go-sdk/mcp"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "github.com/spf13/cobra"
	_ "github.com/uptrace/bunrouter"
	_ "go.yaml.in/yaml/v3"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
	_ "modernc.org/sqlite"
)
