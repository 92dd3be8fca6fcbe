// What the list of jobs needs beside its cells.
import { add_bulk_actions } from "./background_job/bulk";
import { keep_list_live } from "./background_job/live_list";

Object.assign(window.job_engine, { add_bulk_actions, keep_list_live });
