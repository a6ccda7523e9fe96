// A proxy on loopback that adds the bearer token, for a suite that cannot send one.
import http from 'node:http';

/** Forwards to target, and returns the address to use instead of it. */
export async function proxy(target, token) {
  const to = new URL(target);
  let own;
  const server = http.createServer((request, response) => {
    const headers = { ...request.headers };
    // Names of the proxy become names of the server. Others are passed on as they
    // are: a suite that sends a foreign Host wants to see it refused.
    if (own.has(headers.host)) headers.host = to.host;
    if (own.has(headers.origin?.replace(/^https?:\/\//, ''))) headers.origin = to.origin;
    headers.authorization ??= `Bearer ${token}`;
    const upstream = http.request(to, { path: request.url, method: request.method, headers }, answer => {
      response.writeHead(answer.statusCode, answer.rawHeaders);
      response.flushHeaders();
      answer.pipe(response);
    });
    upstream.on('error', error => {
      if (!response.headersSent) response.writeHead(502);
      response.end(String(error));
    });
    response.on('close', () => upstream.destroy());
    request.pipe(upstream);
  });
  await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  own = new Set([`127.0.0.1:${port}`, `localhost:${port}`]);
  return `http://127.0.0.1:${port}${to.pathname}`;
}
