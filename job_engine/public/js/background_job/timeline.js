// The attempts of a job as a picture: when each ran, how long it took, how it ended, and when the next one comes.
const { duration, escape, full_time, relative, status_color, time_of } = window.job_engine; // of job_engine.bundle.js

const ROW = 24;
const AXIS = 22;
const LABEL = 78; // pixels on the left
const MOST_ATTEMPTS = 12; // the last ones

export function draw_timeline(place, job, history) {
	const attempts = attempts_of(job, history);
	const next = next_try(job);
	if (!attempts.length && !next) {
		place.innerHTML = "";
		return;
	}
	const rows = [...attempts.slice(-MOST_ATTEMPTS), ...(next ? [next] : [])];
	place.innerHTML = picture(rows, Math.max(260, place.clientWidth), attempts.length - MOST_ATTEMPTS);
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

function next_try(job) {
	if (!["Pending", "Failed", "Timed Out"].includes(job.status)) return null;
	const at = time_of(job.run_after);
	if (!at || at < new Date()) return null;
	return { number: job.attempts + 1, start: at, end: at, status: "next" };
}

function picture(rows, width, left_out) {
	const first = Math.min(...rows.map((row) => +row.start));
	const last = Math.max(...rows.map((row) => +row.end), first + 1);
	const room = width - LABEL - 8;
	const x = (at) => LABEL + ((at - first) / (last - first)) * room;
	const height = rows.length * ROW + AXIS;
	const drawn = rows.map((row, i) => row_svg(row, i * ROW, x, width));
	const ticks = [first, last].map((at, i) => tick_svg(at, i ? width - 8 : LABEL, height, i));
	const label = __("Attempts: {0}", [rows.map(told).join("; ")]);
	const more = left_out > 0 ? `<p class="text-muted">${escape(__("{0} earlier attempts are not drawn.", [left_out]))}</p>` : "";
	return `${more}<svg class="je-picture" role="img" aria-label="${escape(label)}" width="${width}" height="${height}"
		viewBox="0 0 ${width} ${height}">${ticks.join("")}${drawn.join("")}</svg>`;
}

function told(row) {
	return row.status === "next"
		? __("attempt {0} {1}", [row.number, relative(row.start)])
		: __("attempt {0}: {1} after {2}", [row.number, __(row.status), duration(row.seconds)]);
}

function row_svg(row, y, x, width) {
	const left = x(row.start);
	const size = Math.max(4, x(row.end) - left);
	const text = row.status === "next" ? relative(row.start) : `${__(row.status)}, ${duration(row.seconds)}`;
	const ends_left = left + size + 6 + text.length * 6.5 > width; // no room for the text on the right of the bar
	const middle = y + ROW / 2;
	return `<g class="je-attempt" data-status="${escape(row.status)}">
		<title>${escape(`${full_time(row.start)}: ${told(row)}. ${row.entry?.error || row.entry?.reason || ""}`)}</title>
		<text x="0" y="${middle}" class="je-label">${escape(__("Attempt {0}", [row.number]))}</text>
		<line x1="${LABEL}" x2="${width - 8}" y1="${middle}" y2="${middle}" class="je-rail" />
		${mark_svg(row, left, size, middle)}
		<text x="${ends_left ? left - 6 : left + size + 6}" y="${middle}" ${ends_left ? 'text-anchor="end"' : ""}
			class="je-text">${escape(text)}</text>
	</g>`;
}

function mark_svg(row, left, size, middle) {
	if (row.status === "next") return `<circle cx="${left}" cy="${middle}" r="5" class="je-next" />`;
	return `<rect x="${left}" y="${middle - 6}" width="${size}" height="12" rx="3" class="je-fill-${status_color(row.status)}" />`;
}

function tick_svg(at, x, height, is_last) {
	return `<line x1="${x}" x2="${x}" y1="0" y2="${height - AXIS}" class="je-rail" />
		<text x="${x}" y="${height - 8}" class="je-label" ${is_last ? 'text-anchor="end"' : ""}>${escape(
		full_time(new Date(at))
	)}</text>`;
}
