// Rooms of Frappe's Socket.IO server. Frappe's own doc_subscribe drops what comes within a second of another, and joins no
// room again when the connection was lost. These do, and several parts of a page can watch the same document.

// The server asks for permission before it lets somebody in, and says nothing when it has: what happened until then was not
// heard, and is asked for once more after so long.
export const JOINED_MS = 2000;

const watched = new Map(); // "doctype/name" -> how many watch it
let reconnects = false;

const _emit = (event, key) => {
	const [doctype, name] = JSON.parse(key);
	if (frappe.realtime.socket) frappe.realtime.emit(event, doctype, name);
};

// Enter the room of a document. Returns the function that leaves it again.
export function watch(doctype, name) {
	const key = JSON.stringify([doctype, name]);
	watched.set(key, (watched.get(key) || 0) + 1);
	if (watched.get(key) === 1) _emit("doc_subscribe", key);
	if (!reconnects && frappe.realtime.socket) {
		reconnects = true;
		frappe.realtime.socket.on("connect", () => watched.forEach((_, each) => _emit("doc_subscribe", each)));
	}
	let left = false;
	return () => {
		if (left) return;
		left = true;
		const others = watched.get(key) - 1;
		if (others) return watched.set(key, others);
		watched.delete(key);
		_emit("doc_unsubscribe", key);
	};
}

const MOST_ROOMS = 50;

// Enter the rooms in which this user hears of all jobs they may see: the administrators', or those of their organizations.
// Resolves with the function that leaves them.
export async function watch_all_jobs() {
	if (frappe.user_roles.includes("System Manager")) return watch("Job Engine Settings", "Job Engine Settings");
	await new Promise((resolve) => frappe.model.with_doctype("Background Job", resolve));
	const tenant = frappe.meta.get_docfield("Background Job", "organization").options;
	const permitted = frappe.defaults.get_user_permissions()?.[tenant] || [];
	const leave = permitted.slice(0, MOST_ROOMS).map((permission) => watch(tenant, permission.doc));
	return () => leave.forEach((each) => each());
}
