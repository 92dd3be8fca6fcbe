"""POST /jobs/schedule for administrators, GET /jobs/{name} for whoever may look."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import cache
from typing import Annotated, Any

import reports  # noqa: F401 - registers the job types
from fastapi import Depends, FastAPI, Header, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from job_engine import Engine, Job
from job_engine.core.errors import InvalidJob, JobNotFound, PayloadTooLarge, UnknownJobType

MAX_BODY = 1_000_000  # bytes

app = FastAPI(title="Jobs")


@cache
def engine() -> Engine:
    return Engine.open(os.environ.get("JOBS_DB", "sqlite:///jobs.db"))


# Who may do what -------------------------------------------------------------------------------------------------------


def role_of_caller(
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))],
) -> str:
    for name in ("admin", "read"):
        token = os.environ.get(f"JOBS_{name.upper()}_TOKEN")
        if token and bearer and hmac.compare_digest(token.encode(), bearer.credentials.encode()):
            return name
    raise HTTPException(401, "Send a known token: 'Authorization: Bearer ...'.", {"WWW-Authenticate": "Bearer"})


def admin(role: Annotated[str, Depends(role_of_caller)]) -> None:
    if role != "admin":
        raise HTTPException(403, "This token may look at jobs. To schedule them, an administrator's token is needed.")


# What is asked for ----------------------------------------------------------------------------------------------------


class Wanted(BaseModel):
    model_config = ConfigDict(extra="forbid")
    job_type: str
    params: dict[str, Any] = {}
    run_after: AwareDatetime | None = None
    priority: str | None = None


class Schedule(BaseModel):
    model_config = ConfigDict(extra="forbid")
    jobs: list[Wanted] = Field(min_length=1, max_length=100)


class Status(BaseModel):
    name: str
    job_type: str
    status: str
    progress: float
    progress_message: str | None
    attempts: int
    run_after: datetime
    result: Any
    created: bool | None = None  # False: it was there already
    explanation: str | None = None


def status_of(job: Job, explanation: str | None = None) -> Status:
    fields = {field: getattr(job, field) for field in Status.model_fields if field != "explanation"}
    return Status(**fields, explanation=explanation)


# Endpoints ------------------------------------------------------------------------------------------------------------


@app.post("/jobs/schedule", status_code=202, dependencies=[Depends(admin)], response_model_exclude_none=True)
def schedule(
    wanted: Schedule, idempotency_key: Annotated[str | None, Header(min_length=1, max_length=255)] = None
) -> list[Status]:
    # Hashed, because a key may be longer than a dedup_key; prefixed, so that it meets no dedup_key of another origin.
    scope = idempotency_key and f"schedule:{hashlib.sha256(idempotency_key.encode()).hexdigest()}"
    answers = []
    with engine().transaction() as transaction:  # all or none
        for i, one in enumerate(wanted.jobs):
            engine().registry[one.job_type]  # raises for a dotted path, which the engine would take from trusted code
            answer = engine().enqueue(
                one.job_type,
                one.params,
                connection=transaction,
                run_after=one.run_after,
                priority=one.priority,
                dedup_key=scope and f"{scope}:{i}",
            )
            if scope and not answer.created and not _same(answer, one):
                raise HTTPException(409, f"The Idempotency-Key was used for other jobs (job {answer.name}).")
            answers.append(status_of(answer))
    return answers


def _same(job: Job, wanted: Wanted) -> bool:
    return job.job_type == wanted.job_type and job.params == wanted.params


@app.get("/jobs/{name}", dependencies=[Depends(role_of_caller)])
def show(name: str) -> Status:
    return status_of(engine().get(name), explanation=engine().explain(name))


# Errors, in words -----------------------------------------------------------------------------------------------------


@app.middleware("http")
async def limit_size(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    if request.method == "POST":
        length = request.headers.get("Content-Length", "")
        if not length.isdigit():
            return JSONResponse({"detail": "Send a Content-Length."}, 411)
        if int(length) > MAX_BODY:
            return JSONResponse({"detail": f"The body has {length} bytes; at most {MAX_BODY} are accepted."}, 413)
    return await call_next(request)


@app.exception_handler(RequestValidationError)
def does_not_fit(request: Request, error: RequestValidationError) -> JSONResponse:
    problems = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
    header = any(e["loc"][0] == "header" for e in error.errors())
    return JSONResponse({"detail": "; ".join(problems)}, 400 if header else 422)


_CODES: dict[type[Exception], int] = {PayloadTooLarge: 413, UnknownJobType: 422, InvalidJob: 400, JobNotFound: 404}


def refuse(request: Request, error: Exception) -> JSONResponse:
    code = next(_CODES[kind] for kind in type(error).__mro__ if kind in _CODES)
    return JSONResponse({"detail": str(error)}, code)


for kind in _CODES:
    app.add_exception_handler(kind, refuse)
