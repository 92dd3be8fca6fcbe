// Loaded with every page of Desk, and so kept small: words and colours that several pages share, realtime rooms, dialogs that
// keep the focus, and the progress toast. What one page needs alone is in a bundle of its own.
import * as shared from "./shared";
import * as rooms from "./rooms";
import { keep_focus } from "./focus";
import { track } from "./track";

frappe.provide("job_engine");
Object.assign(window.job_engine, shared, rooms, { keep_focus, track });
