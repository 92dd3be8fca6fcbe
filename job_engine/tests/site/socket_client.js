// A client of Frappe's Socket.IO server with npm's socket.io-client, for tests. It is told on its command line whom to be and
// which documents to watch, writes what it hears to standard output, a line of JSON for each, and ends with its standard input.
const { io } = require("socket.io-client");

const { url, site, origin, headers, documents } = JSON.parse(process.argv[2]);

const say = (event, message) => process.stdout.write(JSON.stringify({ event, message, heard_at: Date.now() / 1000 }) + "\n");

const socket = io(`${url}/${site}`, { transports: ["websocket"], extraHeaders: { origin, ...headers } });

socket.on("connect", () => {
  for (const [doctype, name] of documents) socket.emit("doc_subscribe", doctype, name);
  say("connect", null);
});
socket.on("connect_error", (error) => say("connect_error", error.message));
socket.on("disconnect", (reason) => say("disconnect", reason));
socket.onAny((event, message) => say(event, message));

process.stdin.on("end", () => process.exit(0)).resume();
