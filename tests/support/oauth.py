"""An MCP server that answers people alone whom an authorization server, which is the same process, has signed in.

It checks every request, and writes into the log what is wrong with one ("bad: …"), and what was asked otherwise.
Arguments: log file, seconds that a token lasts, and, where the server is to be hidden, "hidden": then only its answer to who is not
signed in leads to the authorization server, which registers nobody and knows the client `known` with the secret `s3cret`; and its
tool wants the scope `more`.
"""
import base64, hashlib, json, secrets, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

log = open(sys.argv[1], "a")
lasts = int(sys.argv[2])
hidden = len(sys.argv) > 3
place = "/hidden/place" if hidden else "/.well-known/oauth-protected-resource/mcp"
clients, codes, refreshes, tokens = {}, {}, {}, {}


def note(text):
    log.write(text + "\n")
    log.flush()


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def base(self):
        return "http://127.0.0.1:%d" % self.server.server_address[1]

    def answer(self, status, body=b"", headers=()):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def bad(self, why, error="invalid_request"):
        note("bad: " + why)
        self.answer(400, {"error": error, "error_description": why})

    def read(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def may(self):
        sent = self.headers.get("Authorization", "")
        if sent.startswith("Bearer ") and sent[7:] in tokens:
            return True
        note("401 " + ("with a token" if sent else "without a token"))
        where = self.base() + place
        self.answer(401, b"", [("WWW-Authenticate", 'Bearer resource_metadata="%s", scope="tools"' % where)])
        return False

    def do_GET(self):
        url = urlsplit(self.path)
        if url.path == place:
            self.answer(200, {"resource": self.base() + "/mcp", "authorization_servers": [self.base()]})
        elif url.path == "/.well-known/oauth-authorization-server":
            self.answer(200, {**({} if hidden else {"registration_endpoint": self.base() + "/register"}),
                "issuer": self.base(), "authorization_endpoint": self.base() + "/authorize",
                "token_endpoint": self.base() + "/token",
                "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
                "scopes_supported": ["tools"], "authorization_response_iss_parameter_supported": True})
        elif url.path == "/authorize":
            self.authorize({key: values[0] for key, values in parse_qs(url.query).items()})
        elif url.path == "/mcp" and not hidden:
            if self.may():
                self.answer(405)
        else:
            self.answer(404)

    def authorize(self, asked):
        redirect = clients.get(asked.get("client_id"))
        if hidden and asked.get("client_id") == "known":
            redirect = asked["redirect_uri"]
        wanted = {"response_type": "code", "code_challenge_method": "S256", "redirect_uri": redirect,
                  "resource": self.base() + "/mcp"}
        for key, value in wanted.items():
            if value is None or asked.get(key) != value:
                return self.bad("authorize: %s is %r, not %r" % (key, asked.get(key), value))
        if len(asked.get("state", "")) < 16 or len(asked.get("code_challenge", "")) != 43:
            return self.bad("authorize: state or code_challenge is too short")
        if asked.get("scope") not in ("tools", "tools more"):
            return self.bad("authorize: scope is %r" % asked.get("scope"))
        note("authorize " + asked["scope"])
        code = secrets.token_urlsafe(16)
        codes[code] = (asked["client_id"], redirect, asked["code_challenge"], asked["scope"])
        back = {"code": code, "state": asked["state"], "iss": self.base()}
        self.answer(302, b"", [("Location", redirect + "?" + urlencode(back))])

    def do_POST(self):
        if self.path == "/mcp":
            if self.may():
                self.mcp(json.loads(self.read()))
        elif self.path == "/register":
            self.register(json.loads(self.read()))
        elif self.path == "/token":
            self.token({key: values[0] for key, values in parse_qs(self.read().decode()).items()})
        else:
            self.answer(404)

    def do_DELETE(self):
        self.answer(200)

    def register(self, asked):
        redirects = asked.get("redirect_uris", [])
        if len(redirects) != 1 or urlsplit(redirects[0]).hostname != "127.0.0.1" or urlsplit(redirects[0]).path != "/callback":
            return self.bad("register: redirect_uris is %r" % redirects)
        if asked.get("token_endpoint_auth_method") != "none" or asked.get("application_type") != "native":
            return self.bad("register: is no public, native client")
        note("register " + asked["client_name"])
        client = secrets.token_hex(8)
        clients[client] = redirects[0]
        self.answer(201, {"client_id": client, **asked})

    def token(self, asked):
        if asked.get("resource") != self.base() + "/mcp":
            return self.bad("token: resource is %r" % asked.get("resource"))
        if hidden:
            if self.headers.get("Authorization") != "Basic " + base64.b64encode(b"known:s3cret").decode():
                return self.bad("token: the client does not say who it is", "invalid_client")
            asked["client_id"] = "known"
        if asked.get("grant_type") == "authorization_code":
            client, redirect, challenge, scope = codes.pop(asked.get("code"), (None, None, None, None))
            digest = hashlib.sha256(asked.get("code_verifier", "").encode()).digest()
            if client is None or asked.get("client_id") != client or asked.get("redirect_uri") != redirect:
                return self.bad("token: code, client_id or redirect_uri does not fit", "invalid_grant")
            if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != challenge:
                return self.bad("token: code_verifier does not fit", "invalid_grant")
        elif asked.get("grant_type") == "refresh_token":
            client, scope = refreshes.pop(asked.get("refresh_token"), (None, None))
            if client is None or asked.get("client_id") != client:
                return self.bad("token: refresh_token does not fit", "invalid_grant")
        else:
            return self.bad("token: grant_type is %r" % asked.get("grant_type"), "unsupported_grant_type")
        note("token " + asked["grant_type"])
        token, refresh = "access-" + secrets.token_hex(16), "refresh-" + secrets.token_hex(16)
        tokens.clear()
        tokens[token] = scope
        refreshes[refresh] = (client, scope)
        self.answer(200, {"access_token": token, "token_type": "Bearer", "expires_in": lasts, "refresh_token": refresh,
                          "scope": scope})

    def mcp(self, message):
        method, number = message.get("method"), message.get("id")
        note(method)
        if number is None:
            return self.answer(202)
        if hidden and method == "tools/call" and "more" not in tokens[self.headers["Authorization"][7:]]:
            return self.answer(403, b"", [("WWW-Authenticate", 'Bearer error="insufficient_scope", scope="more $(x)"')])
        result = {
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                           "serverInfo": {"name": "vault", "version": "1"}},
            "tools/list": {"tools": [{"name": "tool", "description": "d", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": "treasure"}]},
        }.get(method, {})
        self.answer(200, {"jsonrpc": "2.0", "id": number, "result": result})


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
print(server.server_address[1], flush=True)
server.serve_forever()
