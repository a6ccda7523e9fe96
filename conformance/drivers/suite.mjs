// The public conformance suite, one scenario after the other.
//   node suite.mjs REVISION SCENARIO...
import { execFile } from 'node:child_process';
import path from 'node:path';
import { check, finish, setting } from './report.mjs';
import { proxy } from './proxy.mjs';

const [, , revision, ...scenarios] = process.argv;
const suite = path.join(setting.cache, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js');
const url = await proxy(setting.url, setting.token);

function run(scenario) {
  const args = [suite, 'server', '--url', url, '--scenario', scenario, '--spec-version', revision];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: setting.work, timeout: 55_000, maxBuffer: 1 << 24 }, (error, stdout, stderr) => {
      const text = stdout + stderr;
      const count = /^Passed:.*$/m.exec(text)?.[0];
      // An exit code of 0 without a count would mean that nothing was tried.
      if (!error && count) return resolve(count);
      const failures = text.split('\n').filter(line => /FAIL|✗|Error/.test(line)).slice(0, 5).join('; ');
      reject(new Error(`${count ?? 'no result'} ${failures || error?.message}`));
    });
  });
}

for (const scenario of scenarios) await check(scenario, () => run(scenario));
finish();
