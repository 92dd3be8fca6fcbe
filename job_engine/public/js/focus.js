// Dialogs that keep the focus. Frappe gives the rows of a list tabindex=1, so Tab leads out of a dialog into the list behind
// it, where the next Enter opens a job. Here the first control follows the last one, and Tab leaves an editor, too.

const REACHABLE = "a[href], button, input, select, textarea, summary, [tabindex]";

// For as long as the dialog is open; also for what comes on top of it, such as Frappe's word about an error.
export function keep_focus(dialog) {
	const listener = (event) => event.key === "Tab" && turn_at_the_edge(event, (window.cur_dialog || dialog).$wrapper[0]);
	document.addEventListener("keydown", listener, true); // before the editor, which takes Tab for itself
	dialog.$wrapper.one("hidden.bs.modal", () => document.removeEventListener("keydown", listener, true));
	return dialog;
}

function turn_at_the_edge(event, dialog) {
	if (event.target.matches?.(".ace_text-input")) event.stopPropagation();
	const controls = [...dialog.querySelectorAll(REACHABLE)].filter(is_reachable);
	const [edge, other] = event.shiftKey ? [controls[0], controls.at(-1)] : [controls.at(-1), controls[0]];
	if (controls.includes(document.activeElement) && document.activeElement !== edge) return;
	event.preventDefault();
	other?.focus();
}

function is_reachable(element) {
	if (element.tabIndex < 0 || element.disabled || !element.getClientRects().length) return false;
	return getComputedStyle(element).visibility !== "hidden";
}
