// A job as the code that enqueues one like it.

export function code_of(job) {
	const options = { organization: job.organization, priority: job.priority, queue: job.queue };
	const lines = Object.entries(options)
		.filter(([, value]) => value)
		.map(([word, value]) => `    ${word}=${python(value)},`);
	return [
		"from job_engine.site import engine",
		"",
		"engine().enqueue(",
		`    ${python(job.job_type)},`,
		`    ${python(job.params, "    ")},`,
		...lines,
		")",
		"",
	].join("\n");
}

// A JSON value as Python writes it.
export function python(value, indent = "") {
	if (value === null || value === undefined) return "None";
	if (value === true) return "True";
	if (value === false) return "False";
	if (typeof value !== "object") return JSON.stringify(value);
	const inner = `${indent}    `;
	const parts = Array.isArray(value)
		? value.map((each) => python(each, inner))
		: Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${python(each, inner)}`);
	const [open, close] = Array.isArray(value) ? "[]" : "{}";
	if (!parts.length) return open + close;
	return `${open}\n${parts.map((part) => `${inner}${part},\n`).join("")}${indent}${close}`;
}
