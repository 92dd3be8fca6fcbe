// Watch one job of Job Engine live. The socket brings news; the API is the truth, asked whenever something may have been missed.
//
// `socket` is a connection of socket.io-client to the site's namespace; `getStatus(name)` asks job_engine.api.get_job_status and
// resolves to its answer; `onChange(job)` is called with what is known, each time that changes. Returns a function that stops.

const ASK_AGAIN_MS = 15_000; // the server does not say when it has let us into the room, nor that a message got lost
const ENDED = ["Completed", "Dead Letter", "Canceled"];

export function watchJob({ socket, name, getStatus, onChange, onError = console.error }) {
  let known = { name };
  let knownAt = ""; // times are ISO 8601 in UTC: they compare as text
  let timer = null;
  let stopped = false;

  function learn(news, at) {
    if (stopped || news.name !== name || at < knownAt) return; // an answer may be older than a message that overtook it
    knownAt = at;
    known = { ...known, ...news };
    onChange(known);
  }

  async function ask() {
    clearTimeout(timer);
    const heardAt = knownAt; // the answer is no older than what we had heard when we asked, whatever its own time
    try {
      const job = await getStatus(name);
      learn(job, job.modified > heardAt ? job.modified : heardAt);
    } catch (error) {
      onError(error);
    }
    if (!stopped && !ENDED.includes(known.status)) timer = setTimeout(ask, ASK_AGAIN_MS);
  }

  function onConnect() {
    // Rooms are forgotten with the connection, so this is for the first time and for every reconnect.
    socket.emit("doc_subscribe", "Background Job", name);
    ask();
  }

  function onProgress(news) {
    learn(news, news.at);
  }

  function onStatus(news) {
    learn(news, news.at);
    if (news.name === name && ENDED.includes(news.status)) ask(); // for the result or the error, which are never broadcast
  }

  socket.on("connect", onConnect);
  socket.on("job_progress", onProgress);
  socket.on("job_status_changed", onStatus);
  if (socket.connected) onConnect();
  else ask(); // no socket, or not yet: then by asking alone

  return function stop() {
    stopped = true;
    clearTimeout(timer);
    socket.off("connect", onConnect);
    socket.off("job_progress", onProgress);
    socket.off("job_status_changed", onStatus);
    socket.emit("doc_unsubscribe", "Background Job", name);
  };
}
