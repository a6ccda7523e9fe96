// Which groups of checks there are, and which of them the short run has.

const typescript = (sdk, era, carrier) => ({
  name: `typescript ${sdk} ${era} ${carrier}`, driver: 'typescript.mjs', args: [sdk, era, carrier], seconds: 150,
});

/** Scenarios that a server of tools has to pass, by revision. */
const scenarios = {
  '2025-11-25': ['server-initialize', 'ping', 'tools-list', 'tools-call-simple-text', 'tools-call-image', 'tools-call-error',
    'tools-call-with-progress', 'dns-rebinding-protection', 'server-session-lifecycle', 'server-sse-multiple-streams'],
  '2026-07-28': ['tools-list', 'tools-call-simple-text', 'tools-call-image', 'tools-call-error', 'tools-call-with-progress',
    'http-header-validation', 'dns-rebinding-protection', 'server-sse-multiple-streams',
    'input-required-result-unsupported-methods', 'input-required-result-validate-input'],
};

/** Scenarios that pass as well, without any fixture. */
const further = {
  '2025-11-25': ['resources-list', 'prompts-list'],
  '2026-07-28': ['resources-list', 'prompts-list', 'caching', 'sep-2164-resource-not-found', 'input-required-result-ignore-extra-params'],
};

const suite = (revision, more = []) => ({
  name: `conformance suite ${revision}`, driver: 'suite.mjs', args: [revision, ...scenarios[revision], ...more], seconds: 400,
});

export function groups(short) {
  const wire = { name: 'wire', driver: 'wire.mjs', seconds: 120 };
  if (short) {
    return [suite('2025-11-25'), typescript('v2', 'auto', 'http'), typescript('v2', 'auto', 'stdio'), wire];
  }
  const list = Object.keys(scenarios).map(revision => suite(revision, further[revision]));
  for (const carrier of ['http', 'stdio', 'relay']) {
    list.push(typescript('v1', 'legacy', carrier));
    for (const era of ['legacy', 'auto', '2026-07-28']) list.push(typescript('v2', era, carrier));
  }
  for (const mode of ['legacy', 'auto']) {
    for (const carrier of ['http', 'stdio']) {
      list.push({ name: `python ${mode} ${carrier}`, driver: 'client.py', args: [mode, carrier], seconds: 120 });
    }
  }
  list.push({ name: 'inspector', driver: 'inspector.mjs', seconds: 300 }, wire);
  return list;
}
