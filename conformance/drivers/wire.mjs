// What no well-behaved client sends: requests made by hand with curl, and bytes
// on a socket. Each has one expected answer.
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { check, equal, expect, finish, pause, setting, until } from './report.mjs';

const url = setting.url;
const { origin, hostname, port, host } = new URL(url);
const bearer = `Authorization: Bearer ${setting.token}`;
const json = 'Content-Type: application/json';
const both = 'Accept: application/json, text/event-stream';
const good = [bearer, json, both];
const legacy = 'Mcp-Protocol-Version: 2025-11-25';

let files = 0;
/** Sends one request with curl; headers are sent as written, however often. */
function curl({ method = 'POST', to = url, headers = good, body, more = [] }) {
  const args = ['--silent', '--show-error', '--include', '--max-time', '20', '--path-as-is', '--http1.1', '--request', method];
  for (const header of headers) args.push('--header', header);
  if (body !== undefined) {
    const file = path.join(setting.work, `body-${files++}`);
    writeFileSync(file, body);
    args.push('--data-binary', `@${file}`);
  }
  return new Promise((resolve, reject) => {
    execFile('curl', [...args, '--header', 'Expect:', ...more, to], { maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      const answer = /^HTTP\/1\.1 (\d{3})[^\r]*\r\n([\s\S]*?)\r\n\r\n([\s\S]*)$/.exec(stdout);
      if (!answer) return reject(new Error(`curl: ${stderr || error || stdout}`));
      resolve({ status: Number(answer[1]), head: answer[2].toLowerCase(), body: answer[3] });
    });
  });
}

/** Checks that a request is answered with a status, and with what else is wanted. */
function answers(name, status, request, { code, empty, head, text } = {}) {
  return check(name, async () => {
    const answer = await curl(request);
    equal(answer.status, status, `status (${answer.body.slice(0, 200)})`);
    if (empty) equal(answer.body, '', 'body');
    if (head) expect(head.test(answer.head), `no ${head} in ${answer.head}`);
    if (text) expect(text.test(answer.body), `no ${text} in ${answer.body.slice(0, 200)}`);
    if (code) equal(message(answer.body).error?.code, code, 'code');
    expect(!/goroutine \d|\.go:\d|\/root\/|\/home\//.test(answer.body), `something internal: ${answer.body.slice(0, 200)}`);
    return `${status}`;
  });
}

/** The one message of an answer, as JSON or as an event stream. */
function message(body) {
  const data = body.split('\n').filter(line => line.startsWith('data: {')).at(-1);
  return JSON.parse(data ? data.slice(6) : body);
}

const request = (method, params, id = 1) => JSON.stringify({ jsonrpc: '2.0', id, method, params });
const initialize = request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'curl', version: '1' } });

// Who calls? Host and Origin come first, and say nothing; then the token.
const swap = (from, to) => good.map(header => header === from ? to : header);
await answers('no token', 401, { headers: [json, both], body: initialize }, { head: /www-authenticate: bearer/ });
await answers('wrong token', 401, { headers: swap(bearer, 'Authorization: Bearer nobody'), body: initialize }, { head: /www-authenticate: bearer/ });
await answers('token in another case', 401, { headers: swap(bearer, `Authorization: Bearer ${setting.token.toUpperCase()}`), body: initialize });
await answers('another scheme', 401, { headers: swap(bearer, 'Authorization: Basic YTpi'), body: initialize });
await answers('two Authorization headers, both right', 401, { headers: [bearer, ...good], body: initialize });
await answers('two Authorization headers, one wrong', 401, { headers: ['Authorization: Bearer nobody', ...good], body: initialize });
await answers('token in the address', 401, { to: `${url}?access_token=${setting.token}`, headers: [json, both], body: initialize });
await answers('foreign Host', 403, { headers: [...good, 'Host: evil.example.com'], body: initialize }, { empty: true });
await answers('foreign Host without a token', 403, { headers: [json, 'Host: evil.example.com'], body: initialize }, { empty: true });
await answers('Host with another port', 403, { headers: [...good, `Host: ${hostname}:1`], body: initialize }, { empty: true });
await answers('foreign Origin', 403, { headers: [...good, 'Origin: https://evil.example.com'], body: initialize }, { empty: true });
await answers('opaque Origin', 403, { headers: [...good, 'Origin: null'], body: initialize }, { empty: true });
await answers('two Origins', 403, { headers: [...good, `Origin: ${origin}`, 'Origin: https://evil.example.com'], body: initialize }, { empty: true });
await answers('its own Origin', 200, { headers: [...good, `Origin: ${origin}`], body: initialize });

// Which request is it?
await answers('unknown path', 404, { to: `${origin}/nothing`, body: initialize });
// Clients look for descriptions of login below /.well-known, and must learn that there are none.
await answers('unknown path without a token', 404, { method: 'GET', to: `${origin}/.well-known/oauth-protected-resource`, headers: [] });
await answers('path with dots', 301, { to: `${origin}/x/../mcp`, body: initialize }, { head: /location: \/mcp/ });
await answers('PUT', 405, { method: 'PUT', body: initialize }, { head: /allow: / });
await answers('OPTIONS from a foreign page', 403, { method: 'OPTIONS', headers: ['Origin: https://evil.example.com'] }, { empty: true });
await answers('text', 415, { headers: swap(json, 'Content-Type: text/plain'), body: initialize });
await answers('a form', 415, { headers: swap(json, 'Content-Type: application/x-www-form-urlencoded'), body: initialize });
await answers('no body', 400, {}, { code: -32700 });
await answers('bad JSON', 400, { body: '{"jsonrpc":"2.0","id":1,' }, { code: -32700 });
await answers('JSON with more behind it', 400, { body: initialize + initialize }, { code: -32700 });
await answers('not UTF-8', 400, { body: Buffer.from('7b226a736f6e727063223a2232ff22', 'hex') }, { code: -32700 });
await answers('no object', 400, { body: '"ping"' }, { code: -32600 });
await answers('duplicate key', 400, { body: '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}' }, { code: -32600 });
await answers('duplicate key, once escaped', 400, { body: '{"jsonrpc":"2.0","id":1,"method":"ping","\\u006dethod":"tools/call"}' }, { code: -32600 });
await answers('duplicate key in another case', 400, { body: '{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}' }, { code: -32600 });
await answers('duplicate name of a tool', 400, { body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_simple_text","name":"test_change"}}' }, { code: -32602 });
await answers('body of 33 KiB', 413, { body: request('ping', { _meta: { filler: 'a'.repeat(33 << 10) } }) });
await answers('body of 33 KiB of unknown length', 413, { headers: [...good, 'Transfer-Encoding: chunked'], body: request('ping', { _meta: { filler: 'a'.repeat(33 << 10) } }) });
await answers('body of 10 MiB', 413, { body: request('ping', { _meta: { filler: 'a'.repeat(10 << 20) } }) });
await answers('thirty thousand brackets', 400, { body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${'['.repeat(15000)}${']'.repeat(15000)}}}` });
await answers('unknown session', 404, { headers: [...good, legacy, 'Mcp-Session-Id: nobodys'], body: request('ping') });
await answers('unknown revision', 400, { headers: [...good, 'Mcp-Protocol-Version: 1999-01-01'], body: request('tools/list') });
await answers('GET without a session', 400, { method: 'GET', headers: [bearer, 'Accept: text/event-stream', legacy] });
await answers('method that is not there', 404, modern('tools/nothing', {}), { code: -32601 });
await answers('name in a header that differs from the body', 400, modern('tools/call', { name: 'test_simple_text', arguments: {} }, 'test_change'), { code: -32020 });

/** A request of the revision without sessions. */
function modern(method, params, name = params.name) {
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };
  return {
    headers: [...good, 'Mcp-Protocol-Version: 2026-07-28', `Mcp-Method: ${method}`, ...name ? [`Mcp-Name: ${name}`] : []],
    body: request(method, { ...params, _meta: meta }),
  };
}

/** Arguments that are refused are results, whatever they look like. */
const refuses = (name, args, words) => check(name, async () => {
  const call = modern('tools/call', { name: 'test_structured', arguments: 0 });
  call.body = call.body.replace('"arguments":0', () => `"arguments":${args}`);
  const answer = await curl(call);
  equal(answer.status, 200, `status (${answer.body.slice(0, 200)})`);
  const { result } = message(answer.body);
  equal(result?.isError, true, `isError of ${answer.body.slice(0, 200)}`);
  expect(words.test(result.content[0].text), `no ${words} in ${result.content[0].text}`);
  return result.content[0].text;
});
await refuses('duplicate argument', '{"text":"a","text":"b"}', /twice|duplicate/);
await refuses('argument in another case', '{"text":"a","Times":2}', /Times/);
await refuses('arguments of 17 KiB', JSON.stringify({ text: 'a'.repeat(17 << 10) }), /bytes/);
await refuses('a fraction', '{"text":"a","times":1.5}', /times/);
await refuses('half a character', '{"text":"\\ud800"}', /./);
await refuses('nested more than any argument', `{"text":${'['.repeat(200)}${']'.repeat(200)}}`, /nested/);
const abyss = modern('tools/call', { name: 'test_structured', arguments: 0 });
await answers('nested more than any message', 400, { ...abyss, body: abyss.body.replace('"arguments":0', `"arguments":{"text":${'['.repeat(2000)}${']'.repeat(2000)}}`) }, { code: -32600 });
await answers('a number beyond all bounds', 400, { ...abyss, body: abyss.body.replace('"arguments":0', '"arguments":{"text":"a","times":1e400}') });

// What strangers may ask, and what not.
for (const probe of ['healthz', 'readyz']) {
  await answers(`${probe} by any name`, 200, { method: 'GET', to: `${origin}/${probe}`, headers: ['Host: balancer.example.com'] });
}
await answers('metrics without a token', 401, { method: 'GET', to: `${origin}/metrics`, headers: [] });
await answers('metrics', 200, { method: 'GET', to: `${origin}/metrics`, headers: [bearer] }, { text: /writ_generation [1-9]/ });

// Bytes that are no request, or only half of one.
function socket(bytes) {
  return new Promise((resolve, reject) => {
    const open = net.connect(Number(port), hostname, () => open.write(bytes));
    let got = '';
    open.setEncoding('latin1').on('data', data => { got += data; });
    // A server that has seen enough may close while bytes are still on their way.
    open.on('close', () => resolve(got)).on('error', error => { if (error.code !== 'ECONNRESET') reject(error); });
    setTimeout(() => open.destroy(), 10_000).unref();
  });
}
const begins = (name, bytes, want) => check(name, async () => {
  const got = await socket(bytes);
  expect(want.test(got), `answered ${JSON.stringify(got.slice(0, 120))}`);
});
await begins('no HTTP', '\x16\x03\x01\x02\x00hello\r\n\r\n', /^HTTP\/1\.1 400 /);
await begins('no Host', `POST /mcp HTTP/1.1\r\n${bearer}\r\nConnection: close\r\n\r\n`, /^HTTP\/1\.1 40[03] /);
await begins('two Hosts', `GET /mcp HTTP/1.1\r\nHost: ${host}\r\nHost: evil.example.com\r\nConnection: close\r\n\r\n`, /^HTTP\/1\.1 40[03] /);
await begins('two lengths', `POST /mcp HTTP/1.1\r\nHost: ${host}\r\n${bearer}\r\nContent-Length: 2\r\nContent-Length: 3\r\nConnection: close\r\n\r\n{}`, /^HTTP\/1\.1 400 /);
await begins('a header of 1 MiB', `GET /mcp HTTP/1.1\r\nHost: ${host}\r\nX: ${'a'.repeat(1 << 20)}\r\nConnection: close\r\n\r\n`, /^HTTP\/1\.1 431 |^$/);

await check('two hundred half requests and slow bodies keep nobody out', async () => {
  const held = [];
  const head = `POST /mcp HTTP/1.1\r\nHost: ${host}\r\n${bearer}\r\n${json}\r\n${both}\r\nContent-Length: 1000\r\n`;
  for (let i = 0; i < 200; i++) {
    const open = net.connect(Number(port), hostname);
    open.on('error', () => {}).on('connect', () => open.write(i % 2 ? head : head + '\r\n{"jsonrpc"'));
    held.push(open);
  }
  try {
    await until('all connections', () => held.every(open => !open.connecting));
    await pause(200);
    equal((await curl(modern('tools/call', { name: 'test_simple_text', arguments: {} }))).status, 200, 'status meanwhile');
  } finally {
    for (const open of held) open.destroy();
  }
});

await check('a client that goes away ends its call', async () => {
  const cancelled = async () => {
    const args = ['audit', 'list', '--config', setting.config, '--state-dir', setting.state, '--tool', 'test_wait', '--result', 'cancelled', '--json'];
    const { stdout } = await promisify(execFile)(setting.writ, [...args, '--limit', '1000']);
    return stdout.split('"tool": "test_wait"').length;
  };
  const before = await cancelled();
  await curl({ ...modern('tools/call', { name: 'test_wait', arguments: { seconds: 20 } }), more: ['--max-time', '1'] }).catch(() => {});
  await until('a record of the cancelled call', async () => await cancelled() === before + 1);
});
await answers('and after all that', 200, modern('tools/call', { name: 'test_simple_text', arguments: {} }), { text: /simple text response/ });
finish();
