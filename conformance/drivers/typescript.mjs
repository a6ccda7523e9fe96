// The official TypeScript clients, over HTTP and stdio.
//   node typescript.mjs v1|v2 legacy|auto|REVISION http|stdio|relay
import { execFile } from 'node:child_process';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { check, equal, expect, finish, fromCache, pause, setting, until } from './report.mjs';

const [, , sdk, era, carrier] = process.argv;
const legacyRevision = '2025-11-25';
const wanted = era === 'legacy' ? legacyRevision : era === 'auto' ? '2026-07-28' : era;

const { client, transport, negotiated } = sdk === 'v1' ? await makeV1() : await makeV2();
let changes = 0;

async function makeV1() {
  const { Client } = await fromCache('@modelcontextprotocol/sdk/client/index.js');
  const { StreamableHTTPClientTransport } = await fromCache('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const { StdioClientTransport } = await fromCache('@modelcontextprotocol/sdk/client/stdio.js');
  const { ToolListChangedNotificationSchema } = await fromCache('@modelcontextprotocol/sdk/types.js');
  const client = new Client({ name: 'conformance-v1', version: '1.0.0' }, { capabilities: {} });
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => { changes++; });
  const transport = connection(StreamableHTTPClientTransport, StdioClientTransport);
  if (carrier === 'http') return { client, transport, negotiated: () => transport.protocolVersion };
  // The transport for pipes does not show the revision; it is told what was agreed on.
  let agreed;
  transport.setProtocolVersion = version => { agreed = version; };
  return { client, transport, negotiated: () => agreed };
}

async function makeV2() {
  const { Client, StreamableHTTPClientTransport } = await fromCache('@modelcontextprotocol/client');
  const { StdioClientTransport } = await fromCache('@modelcontextprotocol/client/stdio');
  const client = new Client({ name: 'conformance-v2', version: '1.0.0' }, {
    capabilities: {},
    versionNegotiation: { mode: /^\d/.test(era) ? { pin: era } : era },
    listChanged: { tools: { onChanged: () => { changes++; } } },
  });
  return {
    client, transport: connection(StreamableHTTPClientTransport, StdioClientTransport),
    negotiated: () => client.getNegotiatedProtocolVersion(),
  };
}

function connection(HTTP, Stdio) {
  if (carrier === 'http') {
    return new HTTP(new URL(setting.url), { requestInit: { headers: { Authorization: `Bearer ${setting.token}` } } });
  }
  // Beside the server the same state folder makes a relay of it.
  const state = carrier === 'relay' ? setting.state : path.join(setting.work, `state-${sdk}-${era}`);
  return new Stdio({
    command: setting.writ, args: ['stdio', '--config', setting.config, '--state-dir', state],
    env: { PATH: process.env.PATH, HOME: setting.work }, stderr: 'inherit',
  });
}

const call = (name, args, options) => sdk === 'v1'
  ? client.callTool({ name, arguments: args }, undefined, options)
  : client.callTool({ name, arguments: args }, options);

async function catalog() {
  const found = new Map();
  let cursor;
  do {
    const page = await client.listTools(cursor ? { cursor } : undefined, sdk === 'v2' ? { cacheMode: 'refresh' } : undefined);
    for (const tool of page.tools) {
      expect(!found.has(tool.name), `${tool.name} is listed twice`);
      found.set(tool.name, tool);
    }
    cursor = page.nextCursor;
  } while (cursor && found.size < 1000);
  return found;
}

const textOf = result => result.content.filter(part => part.type === 'text').map(part => part.text).join('\n');

async function refused(name, args, words) {
  const result = await call(name, args);
  expect(result.isError === true, `not refused: ${JSON.stringify(result)}`);
  expect(words.test(textOf(result)), `the reason does not match ${words}: ${textOf(result)}`);
  return textOf(result);
}

async function unknown(name) {
  let result;
  try {
    result = await call(name, {});
  } catch (error) {
    equal(error.code, -32602, 'code');
    return error.message;
  }
  throw new Error(`answered ${JSON.stringify(result)}`);
}

await check(`connect, revision ${wanted}`, async () => {
  await client.connect(transport);
  equal(negotiated(), wanted, 'revision');
  equal(client.getServerVersion().name, 'writ', 'name of the server');
  expect(client.getServerCapabilities().tools?.listChanged === true, 'tools.listChanged is not declared');
  expect(client.getInstructions?.()?.length > 0, 'no instructions');
});

await check('list tools', async () => {
  const tools = await catalog();
  for (const name of ['test_simple_text', 'test_image_content', 'test_error_handling', 'test_tool_with_progress',
    'json_schema_2020_12_tool', 'test_structured', 'test_wait', 'test_change', 'writ_inspect', 'writ_tools', 'writ_invoke']) {
    expect(tools.has(name), `${name} is not listed`);
  }
  for (const tool of tools.values()) {
    expect(/^[A-Za-z0-9_.-]{1,64}$/.test(tool.name), `${tool.name} is no portable name`);
    expect(tool.description?.length > 0, `${tool.name} has no description`);
    equal(tool.inputSchema.type, 'object', `type of the schema of ${tool.name}`);
    for (const word of ['$ref', '$defs', 'allOf', 'anyOf', 'oneOf', 'if', 'not']) {
      expect(!(word in tool.inputSchema), `the schema of ${tool.name} has ${word} at its top`);
    }
  }
  return `${tools.size} tools`;
});

await check('hints follow the risk', async () => {
  const tools = await catalog();
  const hints = name => tools.get(name).annotations;
  equal(hints('test_simple_text').readOnlyHint, true, 'readOnlyHint of test_simple_text');
  expect(hints('test_change').readOnlyHint !== true, 'test_change is called read-only');
  expect(hints('test_structured').readOnlyHint !== true, 'a rule can raise test_structured, and it is called read-only');
  equal(hints('writ_invoke').destructiveHint, true, 'destructiveHint of writ_invoke');
});

await check('call', async () => {
  const result = await call('test_simple_text', {});
  expect(!result.isError, textOf(result));
  equal(result.content, [{ type: 'text', text: 'This is a simple text response for testing.\n' }], 'content');
});

await check('structured content, a default and a number given as text', async () => {
  expect((await catalog()).get('test_structured').outputSchema?.type === 'object', 'outputSchema is not listed');
  equal((await call('test_structured', { text: 'hello' })).structuredContent, { text: 'hello', times: 1 }, 'default');
  equal((await call('test_structured', { text: 'grüße', times: '2' })).structuredContent, { text: 'grüße', times: 2 }, 'number');
});

await check('image', async () => {
  const image = (await call('test_image_content', {})).content.find(part => part.type === 'image');
  equal(image?.mimeType, 'image/png', 'media type');
  equal(Buffer.from(image.data, 'base64').subarray(0, 8).toString('hex'), '89504e470d0a1a0a', 'signature');
});

await check('a failing tool', () => refused('test_error_handling', {}, /exit code 1/));
await check('bad arguments: missing', () => refused('test_structured', {}, /text/));
await check('bad arguments: out of bounds', () => refused('test_structured', { text: 'a', times: 11 }, /times.*10/s));
await check('bad arguments: unknown', () => refused('test_structured', { text: 'a', colour: 'red' }, /colour/));
await check('bad arguments: type', () => refused('test_structured', { text: { a: 1 } }, /text/));
await check('bad arguments: a NUL character', () => refused('test_structured', { text: 'a\u0000b' }, /NUL/));
await check('bad arguments: what the listed schema cannot say', async () => {
  expect(!(await call('json_schema_2020_12_tool', { name: 'Ann', contactMethod: 'email', email: 'a@example.com' })).isError, 'refused');
  return refused('json_schema_2020_12_tool', { name: 'Ann', contactMethod: 'phone', email: 'a@example.com' }, /phone/);
});
await check('a call that needs a person', () => refused('test_change', { what: 'the weather' }, /approve/));
await check('a call that a rule raises', () => refused('test_structured', { text: 'a', times: 6 }, /approve/));
await check('a call that policy denies', () => refused('test_change', { what: 'the server' }, /not changed from here/));
await check('unknown tool', () => unknown('no_such_tool'));

await check('progress', async () => {
  const seen = [];
  const result = await call('test_tool_with_progress', {}, { onprogress: progress => seen.push(progress) });
  expect(!result.isError, textOf(result));
  expect(seen.length >= 3, `${seen.length} notifications`);
  expect(seen.every((p, i) => i === 0 || p.progress > seen[i - 1].progress), `does not rise: ${JSON.stringify(seen)}`);
  expect(seen.some(p => /lines/.test(p.message ?? '')), `no line is counted: ${JSON.stringify(seen)}`);
  return `${seen.length} notifications, the last: ${seen.at(-1).message}`;
});

const writ = promisify(execFile);
async function cancelledCalls() {
  const state = carrier === 'stdio' ? path.join(setting.work, `state-${sdk}-${era}`) : setting.state;
  const { stdout } = await writ(setting.writ, ['audit', 'list', '--config', setting.config, '--state-dir', state,
    '--tool', 'test_wait', '--result', 'cancelled', '--json', '--limit', '1000']);
  return (stdout.match(/"tool": "test_wait"/g) ?? []).length;
}

await check('cancel', async () => {
  const before = await cancelledCalls();
  const stop = new AbortController();
  const running = call('test_wait', { seconds: 20 }, { signal: stop.signal });
  setTimeout(() => stop.abort('enough'), 500);
  const outcome = await running.then(result => `answered ${JSON.stringify(result)}`, error => error);
  expect(outcome instanceof Error || outcome === 'enough', outcome);
  // The program must be gone as well: its record says so, long before 20 s are over.
  await until('a record of the cancelled call', async () => await cancelledCalls() === before + 1, 10_000);
});

await check('sixteen calls at once', async () => {
  const results = await Promise.all(Array.from({ length: 16 }, (_, i) => call('test_structured', { text: `t${i}`, times: 1 })));
  results.forEach((result, i) => equal(result.structuredContent, { text: `t${i}`, times: 1 }, `call ${i}`));
});

const generation = async () => (await call('writ_inspect', {})).structuredContent.generation;

await check('meta tools', async () => {
  const seen = (await call('writ_inspect', {})).structuredContent;
  equal(seen.server, 'writ', 'server');
  expect(seen.generation >= 1 && seen.tools >= 8 && seen.protocol_versions.includes(wanted), JSON.stringify(seen));
  const { tools } = (await call('writ_tools', { filter: 'structure' })).structuredContent;
  equal(tools.map(tool => tool.name), ['test_structured'], 'filter');
  const direct = await call('test_structured', { text: 'hello', times: 2 });
  const invoked = await call('writ_invoke', { tool: 'test_structured', arguments: { text: 'hello', times: 2 } });
  equal(invoked.structuredContent, direct.structuredContent, 'writ_invoke');
  await refused('writ_invoke', { tool: 'no_such_tool', arguments: {} }, /no tool of this name/);
  await refused('writ_invoke', { tool: 'test_structured', argument: {} }, /argument/);
  await refused('writ_tools', { filter: 'a', colour: 'red' }, /colour/);
});

await check('list_changed when an edited file adds and removes a tool', async () => {
  const file = path.join(setting.config, 'tools.d', 'clients.yaml');
  const before = await readFile(file, 'utf8');
  const added = before + `---
kind: Tool
name: test_added
title: Added while serving
description: Answers with one fixed sentence.
risk: read_only
command: {argv: [echo, added]}
`;
  try {
    let seen = changes;
    await writeFile(file, added);
    await until('a notification that a tool was added', () => changes > seen);
    expect((await catalog()).has('test_added'), 'the added tool is not listed');
    equal(textOf(await call('test_added', {})), 'added\n', 'answer of the added tool');
    seen = changes;
    await writeFile(file, before);
    await until('a notification that a tool was removed', () => changes > seen);
    expect(!(await catalog()).has('test_added'), 'the removed tool is still listed');
    await unknown('test_added');
  } finally {
    await writeFile(file, before);
  }
});

await check('no list_changed when the list stays as it is', async () => {
  const file = path.join(setting.config, 'policies', 'clients.yaml');
  const before = await readFile(file, 'utf8');
  const [seen, first] = [changes, await generation()];
  try {
    await appendFile(file, `---
kind: ApprovalPolicy
name: no-secrets
match: {tools: [test_structured]}
deny:
  - {id: no-secrets, when: "args.text == 'secret'", message: Keep it to yourself}
`);
    await until('the next generation', async () => await generation() > first);
    await refused('test_structured', { text: 'secret' }, /Keep it to yourself/);
    await pause(300);
    equal(changes, seen, 'notifications');
  } finally {
    await writeFile(file, before);
  }
  // Taking a denial away waits one more settle window.
  await until('the old rules', async () => !(await call('test_structured', { text: 'secret' })).isError);
});

await check('close', () => client.close());
finish();
