// Serves a server of standard input and output over streamable HTTP, which is the only way the conformance suite speaks:
// one process for each session, every message passed on as it is.
//   BRIDGE_PORT=8931 BRIDGE_CWD=FOLDER node bridge.mjs COMMAND [ARGUMENT...]
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

// Beside the suite, wherever this file lies.
const require = createRequire(pathToFileURL(`${process.env.CONFORMANCE_HOME}/package.json`));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { default: express } = await load('express');
const { StreamableHTTPServerTransport } = await load('@modelcontextprotocol/sdk/server/streamableHttp.js');
const { StdioClientTransport } = await load('@modelcontextprotocol/sdk/client/stdio.js');

const [command, ...args] = process.argv.slice(2);
const sessions = {};
const begin = async () => {
  const server = new StdioClientTransport({ command, args, cwd: process.env.BRIDGE_CWD, env: process.env });
  const client = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => { sessions[id] = client; },
  });
  client.onmessage = (message) => { server.send(message).catch(() => client.close()); };
  server.onmessage = (message) => { client.send(message).catch(() => server.close()); };
  client.onclose = () => server.close();
  await server.start();
  await client.start();
  return client;
};
const app = express();
app.use(express.json());
app.all('/mcp', async (request, response) => {
  const client = sessions[request.headers['mcp-session-id']] ?? (await begin());
  await client.handleRequest(request, response, request.body);
});
app.listen(Number(process.env.BRIDGE_PORT), '127.0.0.1', () => console.log('listening'));
