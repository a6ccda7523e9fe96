// The MCP Inspector from its command line. Its exit codes: 0 it worked, 3 a token
// is needed, 5 the tool answered with isError, 6 a schema is not clean (--strict).
import { execFile } from 'node:child_process';
import path from 'node:path';
import { check, equal, expect, finish, setting } from './report.mjs';

const inspector = path.join(setting.cache, 'node_modules', '@modelcontextprotocol', 'inspector', 'clients', 'launcher', 'build', 'index.js');

function run(code, ...args) {
  return new Promise((resolve, reject) => {
    const options = { env: { ...process.env, HOME: setting.work }, timeout: 55_000, maxBuffer: 1 << 26 };
    execFile(process.execPath, [inspector, '--cli', ...args, '--format', 'json', '-q'], options, (error, stdout, stderr) => {
      const got = error ? error.code ?? error.signal : 0;
      if (got !== code) return reject(new Error(`exit ${got}, want ${code}: ${(stderr || stdout).slice(0, 400)}`));
      resolve(stdout);
    });
  });
}

const to = ['--server-url', setting.url, '--transport', 'http'];
const http = [...to, '--header', `Authorization: Bearer ${setting.token}`];
const list = ['--method', 'tools/list'];
const call = (tool, args) => ['--method', 'tools/call', '--tool-name', tool, '--tool-args-json', JSON.stringify(args)];
const hello = call('test_structured', { text: 'hello', times: 2 });

function structured(output) {
  const answer = JSON.parse(output);
  equal((answer.result ?? answer).structuredContent, { text: 'hello', times: 2 }, 'structured content');
}

for (const era of ['legacy', 'modern', 'auto']) {
  const by = [...http, '--protocol-era', era];
  await check(`${era}: list, schemas held against the strict lint`, async () => {
    const output = await run(0, ...by, ...list, '--strict');
    expect(output.includes('"test_structured"') && output.includes('"writ_inspect"'), 'tools are missing');
  });
  await check(`${era}: call`, async () => structured(await run(0, ...by, ...hello)));
  await check(`${era}: bad arguments`, async () => { await run(5, ...by, ...call('test_structured', { text: 'hello', times: 11 })); });
  await check(`${era}: a refused call`, async () => { await run(5, ...by, ...call('test_change', { what: 'the server' })); });
}
await check('without a token', async () => { await run(3, ...to, '--stored-auth-only', ...list); });
await check('400 calls, 8 at a time', async () => {
  await run(0, ...http, ...hello, '--load', '--load-concurrency', '8', '--load-requests', '400');
});

// The Inspector takes --config for itself, so the environment tells which one is meant.
const stdio = ['env', `WRIT_CONFIG=${setting.config}`, `XDG_STATE_HOME=${path.join(setting.work, 'inspector')}`, setting.writ, 'stdio'];
await check('stdio: list, strict', async () => { await run(0, ...stdio, ...list, '--strict'); });
await check('stdio: call', async () => structured(await run(0, ...stdio, ...hello)));
finish();
