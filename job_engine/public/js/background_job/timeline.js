// The attempts of a job as a picture: when each ran, how long it took, how it ended, who had it tried again, and when the
// next one comes.
const { duration, escape, full_time, relative, status_color, time_of } = window.job_engine; // of job_engine.bundle.js

const ROW = 24;
const AXIS = 22;
const LABEL = 84; // pixels on the left
const GAP = 6; // between a bar and its text
const LETTER = 6.6; // pixels, about
const MOST_TEXT = 0.45; // of the width
const MOST_ATTEMPTS = 12; // the last ones
const BY_HAND = ["Dead Letter", "Canceled"]; // only somebody takes a job out of these

export function draw_timeline(place, job, history) {
	const attempts = attempts_of(job, history);
	const next = next_try(job);
	if (!attempts.length && !next) {
		place.innerHTML = "";
		return;
	}
	const drawn = attempts.slice(-MOST_ATTEMPTS);
	const retries = retries_of(history).filter((retry) => drawn.length && retry.start >= drawn[0].start);
	const rows = [...drawn, ...retries].sort((a, b) => a.start - b.start || a.end - b.end);
	if (next) rows.push(next);
	place.innerHTML = picture(rows, Math.max(260, place.clientWidth), attempts.length - drawn.length);
}

// One for every change from Running to something else, and the one that runs now.
export function attempts_of(job, history) {
	const ended = history
		.filter((entry) => entry.from_status === "Running")
		.map((entry) => {
			const end = time_of(entry.at);
			const seconds = entry.duration || 0;
			return { number: entry.attempt, start: new Date(end - seconds * 1000), end, seconds, status: entry.to_status, entry };
		});
	if (job.status === "Running") {
		const start = time_of(job.started_at) || new Date();
		const end = new Date(Math.max(Date.now(), start));
		ended.push({ number: job.attempts, start, end, seconds: (end - start) / 1000, status: "Running", entry: {} });
	}
	return ended;
}

// Attempts are counted from 1 again after each of these.
function retries_of(history) {
	return history
		.filter((entry) => BY_HAND.includes(entry.from_status))
		.map((entry) => ({ start: time_of(entry.at), end: time_of(entry.at), status: "retry", entry }));
}

function next_try(job) {
	if (!["Pending", "Failed", "Timed Out"].includes(job.status)) return null;
	const at = time_of(job.run_after);
	if (!at || at < new Date()) return null;
	return { number: job.attempts + 1, start: at, end: at, status: "next" };
}

// Beside every bar is room for its text: no text has to go where another one is.
function picture(rows, width, left_out) {
	const times = rows.flatMap((row) => (row.status === "next" ? [+row.start, Date.now()] : [+row.start, +row.end]));
	const first = Math.min(...times);
	const last = Math.max(...times, first + 1);
	const texts = rows.map(text_of);
	const most = Math.max(8, Math.floor((MOST_TEXT * width) / LETTER));
	const room = Math.min(most, Math.max(...texts.map((text) => text.length))) * LETTER + GAP;
	const right = width - room;
	const x = (at) => LABEL + ((at - first) / (last - first)) * (right - LABEL);
	const height = rows.length * ROW + AXIS;
	const drawn = rows.map((row, i) => row_svg(row, shortened(texts[i], most), i * ROW, x, right));
	const label = __("Attempts: {0}", [rows.map(told).join("; ")]);
	const more = left_out > 0 ? `<p class="text-muted">${escape(__("{0} earlier attempts are not drawn.", [left_out]))}</p>` : "";
	return `${more}<svg class="je-picture" role="img" aria-label="${escape(label)}" width="${width}" height="${height}"
		viewBox="0 0 ${width} ${height}">${ticks_svg(first, last, right, width, height)}${drawn.join("")}</svg>`;
}

function told(row) {
	if (row.status === "retry") return text_of(row);
	return row.status === "next"
		? __("attempt {0} {1}", [row.number, relative(row.start)])
		: __("attempt {0}: {1} after {2}", [row.number, __(row.status), duration(row.seconds)]);
}

function text_of(row) {
	if (row.status === "retry") return row.entry.actor ? __("by {0}", [row.entry.actor]) : __("by hand");
	return row.status === "next" ? relative(row.start) : `${__(row.status)}, ${duration(row.seconds)}`;
}

function shortened(text, most) {
	return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function row_svg(row, text, y, x, right) {
	const left = x(row.start);
	const size = Math.max(4, x(row.end) - left);
	const middle = y + ROW / 2;
	const label = row.status === "retry" ? __("Retried") : __("Attempt {0}", [row.number]);
	return `<g class="je-attempt" data-status="${escape(row.status)}">
		<title>${escape(`${full_time(row.start)}: ${told(row)}. ${row.entry?.error || row.entry?.reason || ""}`)}</title>
		<text x="0" y="${middle}" class="je-label">${escape(label)}</text>
		<line x1="${LABEL}" x2="${right}" y1="${middle}" y2="${middle}" class="je-rail" />
		${mark_svg(row, left, size, middle)}
		<text x="${left + size + GAP}" y="${middle}" class="je-text">${escape(text)}</text>
	</g>`;
}

function mark_svg(row, left, size, middle) {
	if (row.status === "next") return `<circle cx="${left}" cy="${middle}" r="5" class="je-next" />`;
	if (row.status === "retry") return `<circle cx="${left}" cy="${middle}" r="4" class="je-fill-gray" />`;
	return `<rect x="${left}" y="${middle - 6}" width="${size}" height="12" rx="3" class="je-fill-${status_color(row.status)}" />`;
}

// The day is said once where the picture begins and ends on the same one.
function ticks_svg(first, last, right, width, height) {
	const [from, until] = [first, last].map((at) => full_time(new Date(at)));
	const day = from.split(" ")[0];
	const end = until.startsWith(`${day} `) ? until.slice(day.length + 1) : until;
	const half = (end.length * LETTER) / 2;
	const middle = Math.min(right, width - half); // under its place, or as far to the right as it goes
	const is_narrow = LABEL + from.length * LETTER + GAP > middle - half; // then each goes to its edge
	const line = (x) => `<line x1="${x}" x2="${x}" y1="0" y2="${height - AXIS}" class="je-rail" />`;
	const text = (x, anchor, words) =>
		`<text x="${x}" y="${height - 8}" class="je-label" text-anchor="${anchor}">${escape(words)}</text>`;
	const texts = is_narrow
		? text(0, "start", from) + text(width, "end", end)
		: text(LABEL, "start", from) + text(middle, "middle", end);
	return line(LABEL) + line(right) + texts;
}
