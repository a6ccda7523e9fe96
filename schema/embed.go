// Package schema answers one question: what may a document say? The grammar is
// in the *.cue files, and only there; json/ is derived from it.
package schema

import "embed"

//go:generate go run ../engine/load/generate

// Files holds *.cue, json/KIND.json and json/writ.json.
//
//go:embed *.cue json/*.json
var Files embed.FS
