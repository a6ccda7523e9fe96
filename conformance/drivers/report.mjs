// What every driver shares: it runs checks one after the other, and writes each
// as one line of JSON for the runner, which alone decides what passes.
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** What the runner tells a driver: JSON in CONFORMANCE, see run.mjs. */
export const setting = JSON.parse(process.env.CONFORMANCE ?? '{}');

/** Runs one check. What it returns is shown as detail; what it throws fails it. */
export async function check(name, run) {
  const begin = performance.now();
  const line = { name, ok: true };
  try {
    line.detail = await within(60_000, run(), name);
  } catch (error) {
    line.ok = false;
    line.detail = error?.code === undefined ? String(error?.message ?? error) : `${error.code}: ${error.message}`;
  }
  line.ms = Math.round(performance.now() - begin);
  if (typeof line.detail === 'string') line.detail = line.detail.slice(0, 600);
  process.stdout.write(JSON.stringify(line) + '\n');
  return line.ok;
}

/** The last line of a driver: without it the runner counts a failure. */
export function finish() {
  process.stdout.write(JSON.stringify({ finished: true }) + '\n', () => process.exit(0));
}

export function expect(condition, message) {
  if (!condition) throw new Error(message);
}

export function equal(got, want, what) {
  const [g, w] = [JSON.stringify(got), JSON.stringify(want)];
  if (g !== w) throw new Error(`${what}: got ${g}, want ${w}`);
}

export const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

/** Asks again until the answer is true; waiting is bounded, never measured. */
export async function until(what, ask, ms = 15_000) {
  for (const end = Date.now() + ms; Date.now() < end; await pause(50)) {
    const answer = await ask();
    if (answer) return answer;
  }
  throw new Error(`${what}: not within ${ms / 1000} s`);
}

export function within(ms, promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: no answer within ${ms / 1000} s`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Imports a package of the cache folder, which is no parent of this file. */
export async function fromCache(name) {
  const require = createRequire(path.join(setting.cache, 'package.json'));
  return import(pathToFileURL(require.resolve(name)).href);
}
