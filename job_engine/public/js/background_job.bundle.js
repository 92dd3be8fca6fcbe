// What the form of a job needs.
import { JobForm } from "./background_job/form";

Object.assign(window.job_engine, { JobForm });
