// Runs the groups of checks one after the other against one server, and prints
// a table of what came of them. Started by ./run, which installs and builds.
//   node run.mjs CACHE WRIT [--short] [--only TEXT]... [--verbose]
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';
import { groups } from './groups.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const [cache, writ, ...flags] = process.argv.slice(2);
const short = flags.includes('--short');
const verbose = flags.includes('--verbose');
const only = flags.flatMap((flag, i) => flag === '--only' ? [flags[i + 1] ?? ''] : []);

const work = mkdtempSync(path.join(os.tmpdir(), 'writ-conformance-'));
const setting = {
  cache, writ, work, short,
  config: path.join(work, 'config'), state: path.join(work, 'state'), token: randomBytes(24).toString('base64url'),
};
// The files are edited while they are served, so a copy of them is.
cpSync(path.join(here, '..', 'examples', 'conformance'), setting.config, { recursive: true });
mkdirSync(path.join(work, 'logs'));

const results = [];
const add = (group, line) => {
  results.push({ group, ...line });
  if (verbose || !line.ok) console.log(`${line.ok ? 'ok  ' : 'FAIL'} ${group}: ${line.name}${line.detail ? ` (${line.detail})` : ''}`);
};

/** Starts the server and waits for its address. */
async function serve() {
  const log = path.join(work, 'logs', 'server.log');
  const child = spawn(writ, ['serve', '--config', setting.config, '--state-dir', setting.state, '--listen', '127.0.0.1:0', '--log-format', 'json'],
    { env: { PATH: process.env.PATH, HOME: work, WRIT_TOKEN: setting.token }, stdio: ['ignore', 'pipe', 'pipe'] });
  child.stderr.pipe(createWriteStream(log));
  const exit = new Promise(resolve => child.on('exit', (code, signal) => resolve(signal ?? code)));
  const address = new Promise(resolve => {
    readline.createInterface({ input: child.stdout }).on('line', line => {
      const found = /address\s+(http:\S+)/.exec(line);
      if (found) resolve(found[1]);
    });
  });
  const ended = exit.then(code => { throw new Error(`writ serve ended with ${code}: ${readFileSync(log, 'utf8')}`); });
  const late = new Promise((_, reject) => setTimeout(reject, 30_000, new Error('writ serve printed no address within 30 s')).unref());
  try {
    return { child, exit, log, url: await Promise.race([address, ended, late]) };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  } finally {
    ended.catch(() => {}); // it ends in any case, later
    late.catch(() => {});
  }
}

/** Runs the driver of one group and collects what it reports. */
function drive(group) {
  return new Promise(resolve => {
    const program = group.driver.endsWith('.py') ? path.join(cache, 'python', 'bin', 'python') : process.execPath;
    const child = spawn(program, [path.join(here, 'drivers', group.driver), ...group.args ?? []], {
      env: { ...process.env, CONFORMANCE: JSON.stringify({ ...setting, ...group.setting }) },
      stdio: ['ignore', 'pipe', 'pipe'], detached: true,
    });
    child.stderr.pipe(createWriteStream(path.join(work, 'logs', group.name.replaceAll(/[^a-z0-9.-]+/gi, '-') + '.log')));
    let finished = false, late = false;
    const timer = setTimeout(() => { late = true; process.kill(-child.pid, 'SIGKILL'); }, group.seconds * 1000);
    const lines = readline.createInterface({ input: child.stdout });
    lines.on('line', text => {
      let line;
      try { line = JSON.parse(text); } catch { return; }
      if (line.finished) finished = true; else add(group.name, line);
    });
    child.on('error', error => add(group.name, { name: 'start', ok: false, detail: error.message }));
    child.on('close', code => {
      clearTimeout(timer);
      if (late) add(group.name, { name: 'ends in time', ok: false, detail: `killed after ${group.seconds} s` });
      else if (!finished) add(group.name, { name: 'runs to its end', ok: false, detail: `the driver ended with ${code}; see ${work}/logs` });
      resolve();
    });
  });
}

/** What must hold of the server after everything that was done to it. */
async function stop(server) {
  const status = execFileSync(writ, ['status', '--config', setting.config, '--state-dir', setting.state, '--json'], { encoding: 'utf8' });
  add('server', { name: 'is still there, with valid files', ok: JSON.parse(status).reload?.valid !== false, detail: '' });
  server.child.kill('SIGTERM');
  const late = setTimeout(() => server.child.kill('SIGKILL'), 30_000);
  const code = await server.exit;
  clearTimeout(late);
  add('server', { name: 'stops when told to', ok: code === 0, detail: `exit ${code}` });
  const bad = readFileSync(server.log, 'utf8').split('\n').filter(line => /"level":"ERROR"|^panic|^goroutine /.test(line));
  add('server', { name: 'logged no error', ok: bad.length === 0, detail: bad[0] ?? '' });
  const told = readFileSync(server.log, 'utf8').includes(setting.token);
  add('server', { name: 'logged no token', ok: !told });
}

/** A failure that baseline.json expects passes; one that it expects in vain fails. */
function judge() {
  const expected = JSON.parse(readFileSync(path.join(here, 'baseline.json'), 'utf8'));
  for (const { group, name, reason } of expected) {
    if (!reason) throw new Error(`baseline.json gives no reason for ${group}: ${name}`);
    const seen = results.find(result => result.group === group && result.name === name);
    if (!seen) continue;
    if (seen.ok) {
      add('baseline', { name: `${group}: ${name}`, ok: false, detail: 'passes now: take it out of baseline.json' });
      continue;
    }
    seen.ok = true;
    console.log(`known ${group}: ${name} (${reason})`);
  }
}

function table() {
  const names = [...new Set(results.map(result => result.group))];
  const width = Math.max(...names.map(name => name.length));
  console.log(`\n${'group'.padEnd(width)}  passed  failed  seconds`);
  for (const name of names) {
    const mine = results.filter(result => result.group === name);
    const failed = mine.filter(result => !result.ok).length;
    const seconds = mine.reduce((sum, result) => sum + (result.ms ?? 0), 0) / 1000;
    console.log(`${name.padEnd(width)}  ${String(mine.length - failed).padStart(6)}  ${String(failed).padStart(6)}  ${seconds.toFixed(1).padStart(7)}`);
  }
}

const chosen = groups(short).filter(group => only.length === 0 || only.some(text => group.name.includes(text)));
if (chosen.length === 0) throw new Error(`no group has ${only.join(' or ')} in its name`);
const server = await serve();
setting.url = server.url;
try {
  for (const group of chosen) {
    const failure = path.join(cache, 'python.failed');
    if (group.driver.endsWith('.py') && existsSync(failure)) {
      add(group.name, { name: 'install', ok: false, detail: `the client could not be installed: ${readFileSync(failure, 'utf8').trim()}` });
      continue;
    }
    console.log(`-- ${group.name}`);
    await drive(group);
  }
} finally {
  await stop(server);
}
judge();
table();
const failed = results.filter(result => !result.ok).length;
if (failed === 0) rmSync(work, { recursive: true, force: true });
else console.log(`logs: ${work}/logs`);
console.log(`${results.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
