// Parameters, result and checkpoint, as people read JSON.
const { escape, pretty } = window.job_engine; // of job_engine.bundle.js

export function payload_html(job) {
	const parts = [
		[__("Parameters"), job.params],
		[__("Result"), job.result],
		[__("Checkpoint"), job.checkpoint],
	];
	return parts
		.filter(([, value]) => value !== null && value !== undefined)
		.map(([title, value]) => `<section class="je-payload"><h6>${escape(title)}</h6><pre>${highlighted(value)}</pre></section>`)
		.join("");
}

const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;

// Colours for keys, texts and numbers. Each piece is escaped by itself.
function highlighted(value) {
	const text = pretty(value);
	if (typeof value === "string") return escape(text);
	let html = "";
	let done = 0;
	for (const found of text.matchAll(TOKEN)) {
		const kind = found[2] !== undefined ? "key" : found[1] ? "text" : found[3] ? "word" : "number";
		html += `${escape(text.slice(done, found.index))}<span class="je-json-${kind}">${escape(found[0])}</span>`;
		done = found.index + found[0].length;
	}
	return html + escape(text.slice(done));
}
