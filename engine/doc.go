// Package engine is the map of Writ's rooms; it holds no code.
//
// A file becomes authority on this way:
//
//	schema/*.cue ── grammar ──► load ──► document ──► tool, risk, policy ──► catalog ──► live
//	                                                                          ▲
//	                                             reload watches and publishes ┘
//
// A call takes this way, and no other:
//
//	mcpserver, cmd ──► pipeline: admit ► prepare ► assess ► approve ► execute ► record
//	                              │         │         │         │         │        │
//	                              │      argument   risk    approval  executor/*  audit
//	                              │      root       policy            output      store
//	                              │      template   rule              secret
//	                              lock   tool       condition grant   network
//
// Each stage accepts only what the stage before it produced: call.Request,
// call.Prepared, risk.Assessment, policy.Decision, approval.Authorization,
// call.Result. The rooms argument, condition, match, rule, risk, policy and
// template are pure: no state, no clock, no log.
//
// imports.txt lists which room may import which; imports_test.go enforces it
// by reading the sources.
package engine
