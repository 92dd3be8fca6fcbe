// The page: whoever is logged in to the site watches ?job=NAME.
//
// Behind nginx, as in production, Socket.IO is on the site's own address. A bench without nginx has it on another port, which
// ?socketio_port=9000 names. The namespace is the site's name, which on a bench is the host name, unless ?site= says otherwise.
import { watchJob } from "./watch_job.js";

const asked = new URLSearchParams(location.search);
const name = asked.get("job");
const element = (id) => document.getElementById(id);

async function getStatus(job) {
  const answer = await fetch(`/api/method/job_engine.api.get_job_status?name=${encodeURIComponent(job)}`, {
    headers: { Accept: "application/json" },
  });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error?.message ?? `The site answered ${answer.status}.`);
  return body.message;
}

// Only textContent: what handlers wrote is text, whatever it looks like.
function show(job) {
  element("job").hidden = false;
  element("error").hidden = !job.error;
  element("error").textContent = job.error ?? "";
  element("type").textContent = job.job_type;
  element("name").textContent = job.name;
  element("status").textContent = job.status;
  element("progress").value = job.progress ?? 0;
  element("message").textContent = job.progress_message ?? "";
  element("attempts").textContent = `${job.attempts} of ${job.max_attempts}`;
  element("result").hidden = job.result == null;
  element("result").textContent = job.result == null ? "" : JSON.stringify(job.result, null, 2);
}

function complain(error) {
  element("job").hidden = false;
  element("error").hidden = false;
  element("error").textContent = error.message;
}

if (name) {
  element("ask").hidden = true;
  const port = asked.get("socketio_port");
  const server = port ? `${location.protocol}//${location.hostname}:${port}` : location.origin;
  const socket = io(`${server}/${asked.get("site") ?? location.hostname}`, { withCredentials: true });
  socket.on("connect", () => (element("job").dataset.connected = "yes"));
  socket.on("disconnect", () => (element("job").dataset.connected = "no"));
  const stop = watchJob({ socket, name, getStatus, onChange: show, onError: complain });
  addEventListener("pagehide", stop);
}
