"""What a node answered for sites that moved lately: as the node reports it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from flex.model.node_answer_counts import MOST_NAMES, SPANS, TIMES, Answers, AnswersOfSpan
from flex_api.schemas.output_base import Output
from flex_api.schemas.request_and_list_base import Given

# Larger than any count, and still a whole number for every program that reads JSON.
_MOST = 10**15
Count = Annotated[int, Field(ge=0, le=_MOST)]


class AnswersOfSpanGiven(Given):
    """What was answered for a host name in one span of 900 seconds, the `span`-th since 1970."""

    name: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[a-z0-9.-]+$")]
    span: Annotated[int, Field(ge=0, le=10**10)]
    requests: Count
    errors: Annotated[
        int, Field(ge=0, le=_MOST, description="answers that are 5xx, or that never came")
    ]
    times: Annotated[
        list[Count],
        Field(
            min_length=TIMES,
            max_length=TIMES,
            description="answers that took at most 32, 64, 128, ... 8192 ms, and more",
        ),
    ]


class AnswersGiven(Given):
    counted: Annotated[tuple[AnswersOfSpanGiven, ...], Field(max_length=MOST_NAMES * SPANS)] = ()


class NamesWanted(Output):
    """Host names that FLEX wants to hear of with the next report."""

    names: list[str]


def answers_of(given: AnswersGiven, node: str) -> list[AnswersOfSpan]:
    return [
        AnswersOfSpan(
            node,
            span_answers.name,
            span_answers.span,
            Answers(
                span_answers.requests,
                min(span_answers.errors, span_answers.requests),
                tuple(span_answers.times),
            ),
        )
        for span_answers in given.counted
    ]
