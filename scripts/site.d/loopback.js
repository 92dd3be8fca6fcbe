// Frappe's Socket.IO server listens on a port of every interface, and has no setting for it. Loaded before it
// (node --require), this makes a server that names no host listen on the loopback interface.
const net = require("net");

const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function (port, ...rest) {
  const names_no_host = typeof port === "number" && typeof rest[0] !== "string";
  return names_no_host ? listen.call(this, port, "127.0.0.1", ...rest) : listen.call(this, port, ...rest);
};
