"""The loop over a scripted model: order of events, tools, queues, aborts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from relay.agent.abort import Abort
from relay.agent.events import (
    AgentEnd,
    EventBus,
    MessageEnd,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from relay.agent.hooks import Blocked, Hooks
from relay.agent.loop import Loop, ModelCall
from relay.agent.tool import ToolCallContext, ToolError, ToolResult
from relay.ai.errors import ProviderError
from relay.ai.types import TextContent, ToolCall, ToolResultMessage, text_of
from tests.agent.fakes import FakeCall, FakeDesk, FakeTool, NoRetry, Trace, answer, call, user


def says(text: str) -> ToolResult:
    return ToolResult(content=[TextContent(text=text)])


async def echo(arguments: dict[str, Any], context: ToolCallContext) -> ToolResult:
    return says(str(arguments.get("text", "")))


class Stage:
    """A loop, its desk and what was heard of it."""

    def __init__(self, *calls: FakeCall, tools: tuple[FakeTool, ...] = ()) -> None:
        self.trace = Trace()
        self.hooks = Hooks()
        self.abort = Abort()
        self.desk = FakeDesk(*calls, tools=tools)
        bus = EventBus()
        bus.subscribe(self.trace)
        self.loop = Loop(bus, self.hooks, self.desk, NoRetry())

    async def run(self, text: str = "go") -> None:
        await self.loop.run([user(text)], self.abort)

    def results(self) -> list[ToolResultMessage]:
        return [
            event.message
            for event in self.trace.of(MessageEnd)
            if isinstance(event.message, ToolResultMessage)
        ]


async def test_one_answer_is_one_turn() -> None:
    stage = Stage(FakeCall(answer(TextContent(text="hi"))))
    await stage.run()
    assert stage.trace.types == [
        "agent_start",
        "turn_start",
        "message_start",
        "message_end",
        "message_start",
        "message_update",
        "message_update",
        "message_update",
        "message_end",
        "turn_end",
        "agent_end",
    ]


async def test_results_come_in_the_order_of_the_calls_and_ends_as_they_finish() -> None:
    slow_may_end = asyncio.Event()

    async def slow(arguments: dict[str, Any], context: ToolCallContext) -> ToolResult:
        await slow_may_end.wait()
        return says("slow")

    async def fast(arguments: dict[str, Any], context: ToolCallContext) -> ToolResult:
        slow_may_end.set()
        return says("fast")

    stage = Stage(
        FakeCall(answer(call("a", "slow"), call("b", "fast"), stop="toolUse")),
        FakeCall(answer(TextContent(text="done"))),
        tools=(FakeTool("slow", slow), FakeTool("fast", fast)),
    )
    await stage.run()
    assert [event.tool_call_id for event in stage.trace.of(ToolExecutionStart)] == ["a", "b"]
    assert [event.tool_call_id for event in stage.trace.of(ToolExecutionEnd)] == ["b", "a"]
    assert [result.tool_call_id for result in stage.results()] == ["a", "b"]
    kinds = [kind for kind in stage.trace.types if kind.startswith("tool_")]
    assert kinds[:2] == ["tool_execution_start", "tool_execution_start"]


async def test_a_sequential_tool_makes_the_whole_turn_sequential() -> None:
    tool = FakeTool("one", echo, properties={"text": {"type": "string"}}, execution="sequential")
    other = FakeTool("two", echo, properties={"text": {"type": "string"}})
    stage = Stage(
        FakeCall(answer(call("a", "two"), call("b", "one"), call("c", "two"), stop="toolUse")),
        FakeCall(answer()),
        tools=(tool, other),
    )
    await stage.run()
    kinds = [kind for kind in stage.trace.types if kind.startswith("tool_")]
    assert kinds == ["tool_execution_start", "tool_execution_end"] * 3


async def test_two_calls_that_change_one_file_never_overlap() -> None:
    async def body(arguments: dict[str, Any], context: ToolCallContext) -> ToolResult:
        for _ in range(5):
            await asyncio.sleep(0)
        return says("ok")

    same = FakeTool("edit", body, properties={"path": {"type": "string"}}, writes=True)
    calls = [call(str(n), "edit", path="/f") for n in range(4)]
    stage = Stage(FakeCall(answer(*calls, stop="toolUse")), FakeCall(answer()), tools=(same,))
    await stage.run()
    assert same.most == 1
    apart = FakeTool("edit", body, properties={"path": {"type": "string"}}, writes=True)
    calls = [call(str(n), "edit", path=f"/f{n}") for n in range(4)]
    stage = Stage(FakeCall(answer(*calls, stop="toolUse")), FakeCall(answer()), tools=(apart,))
    await stage.run()
    assert apart.most == 4


async def test_an_unknown_tool_is_answered_with_the_names_there_are() -> None:
    stage = Stage(
        FakeCall(answer(call("a", "raed"), stop="toolUse")),
        FakeCall(answer()),
        tools=(FakeTool("read", echo), FakeTool("bash", echo)),
    )
    await stage.run()
    (result,) = stage.results()
    assert result.is_error
    text = text_of(result.content)
    assert "raed" in text and "Did you mean read?" in text and "bash" in text


async def test_wrong_arguments_name_the_field_and_do_not_run_the_tool() -> None:
    tool = FakeTool("read", echo, properties={"path": {"type": "string"}}, required=("path",))
    stage = Stage(
        FakeCall(
            answer(
                call("a", "read"),
                call("b", "read", path=3),
                ToolCall(id="c", name="read", arguments={}, raw_arguments="{'path': 1"),
                stop="toolUse",
            )
        ),
        FakeCall(answer()),
        tools=(tool,),
    )
    await stage.run()
    missing, wrong, malformed = stage.results()
    assert tool.most == 0
    assert all(result.is_error for result in stage.results())
    assert "path" in text_of(missing.content)
    assert "path must be string" in text_of(wrong.content)
    assert "{'path': 1" in text_of(malformed.content)


async def test_numbers_given_as_strings_are_accepted() -> None:
    seen: list[Any] = []

    async def body(arguments: dict[str, Any], context: ToolCallContext) -> ToolResult:
        seen.append(arguments)
        return says("ok")

    tool = FakeTool("read", body, properties={"limit": {"type": "number"}, "all": {"type": "boolean"}})
    stage = Stage(
        FakeCall(answer(call("a", "read", limit="10", all="true"), stop="toolUse")),
        FakeCall(answer()),
        tools=(tool,),
    )
    await stage.run()
    assert seen == [{"limit": 10, "all": True}]


async def test_a_raising_tool_is_a_failed_result_and_the_run_goes_on() -> None:
    async def breaks(arguments: dict[str, Any], context: ToolCallContext) -> ToolResult:
        raise ZeroDivisionError("by zero")

    async def complains(arguments: dict[str, Any], context: ToolCallContext) -> ToolResult:
        raise ToolError("no such file: a.txt", {"hint": 1})

    stage = Stage(
        FakeCall(answer(call("a", "breaks"), call("b", "complains"), stop="toolUse")),
        FakeCall(answer(TextContent(text="gave up"))),
        tools=(FakeTool("breaks", breaks), FakeTool("complains", complains)),
    )
    await stage.run()
    first, second = stage.results()
    assert first.is_error and "by zero" in text_of(first.content)
    assert second.is_error and text_of(second.content) == "no such file: a.txt"
    assert second.details == {"hint": 1}
    assert stage.desk.unused == 0


async def test_hooks_block_calls_and_replace_results() -> None:
    stage = Stage(
        FakeCall(answer(call("a", "bash", text="rm"), call("b", "bash", text="ls"), stop="toolUse")),
        FakeCall(answer()),
        tools=(FakeTool("bash", echo, properties={"text": {"type": "string"}}),),
    )

    async def guard(tool_call: ToolCall, arguments: dict[str, Any]) -> Blocked | None:
        return Blocked("not allowed here") if arguments["text"] == "rm" else None

    async def shout(tool_call: ToolCall, result: ToolResult) -> ToolResult:
        return ToolResult(
            content=[TextContent(text=text_of(result.content).upper())], is_error=result.is_error
        )

    stage.hooks.before_tool.append(guard)
    stage.hooks.after_tool.append(shout)
    await stage.run()
    blocked, ran = stage.results()
    assert blocked.is_error and text_of(blocked.content) == "NOT ALLOWED HERE"
    assert not ran.is_error and text_of(ran.content) == "LS"


async def test_a_cut_off_answer_does_not_run_its_calls() -> None:
    tool = FakeTool("write", echo)
    stage = Stage(FakeCall(answer(call("a", "write"), stop="length")), FakeCall(answer()), tools=(tool,))
    await stage.run()
    (result,) = stage.results()
    assert tool.most == 0 and result.is_error and "cut off" in text_of(result.content)
    assert stage.desk.unused == 0


async def test_steering_comes_before_the_next_call_and_follow_ups_after_the_stop() -> None:
    stage = Stage(
        FakeCall(answer(call("a", "echo"), stop="toolUse")),
        FakeCall(answer(TextContent(text="one"))),
        FakeCall(answer(TextContent(text="two"))),
        tools=(FakeTool("echo", echo),),
    )
    stage.desk.follow_up.append(user("later"))
    stage.desk.steering.append(user("now"))
    await stage.run()
    said = [
        (event.message.__struct_config__.tag, text_of(event.message.content))  # type: ignore[union-attr]  # all have content
        for event in stage.trace.of(MessageEnd)
    ]
    assert said == [
        ("user", "go"),
        ("user", "now"),
        ("assistant", ""),
        ("toolResult", ""),
        ("assistant", "one"),
        ("user", "later"),
        ("assistant", "two"),
    ]
    assert len(stage.trace.of(AgentEnd)) == 1


async def test_abort_while_the_model_streams_ends_in_one_complete_message() -> None:
    stage = Stage(FakeCall(answer(TextContent(text="half")), gate=asyncio.Event()))
    run = asyncio.create_task(stage.run())
    await stage.trace.reached("message_update")
    stage.abort.request()
    await run
    assert stage.trace.types[-3:] == ["message_end", "turn_end", "agent_end"]
    last = stage.trace.of(MessageEnd)[-1].message
    assert last.stop_reason == "aborted"  # type: ignore[union-attr]  # the last message is the answer


async def test_abort_while_a_tool_runs_keeps_its_output_and_closes_everything() -> None:
    async def hangs(arguments: dict[str, Any], context: ToolCallContext) -> ToolResult:
        context.update(says("alpha\n"))
        await asyncio.Event().wait()
        return says("never")

    tool = FakeTool("bash", hangs)
    stage = Stage(FakeCall(answer(call("a", "bash"), call("b", "bash"), stop="toolUse")), tools=(tool,))
    run = asyncio.create_task(stage.run())
    await stage.trace.reached("tool_execution_update", 2)
    stage.abort.request()
    await run
    assert tool.running == 0
    assert [text_of(result.content).split("\n")[0] for result in stage.results()] == ["alpha", "alpha"]
    assert all(result.is_error and "aborted" in text_of(result.content) for result in stage.results())
    assert stage.trace.types[-6:] == [
        "turn_end",
        "turn_start",
        "message_start",
        "message_end",
        "turn_end",
        "agent_end",
    ]
    assert len(stage.trace.of(ToolExecutionEnd)) == 2


async def test_abort_before_the_call_makes_no_request() -> None:
    stage = Stage()
    stage.abort.request()
    await stage.run()
    assert stage.trace.types.count("message_start") == stage.trace.types.count("message_end") == 2


async def test_partial_results_are_told_before_the_end() -> None:
    async def chatty(arguments: dict[str, Any], context: ToolCallContext) -> ToolResult:
        context.update(says("1"))
        context.update(says("1 2"))
        return says("1 2 3")

    stage = Stage(
        FakeCall(answer(call("a", "chatty"), stop="toolUse")),
        FakeCall(answer()),
        tools=(FakeTool("chatty", chatty),),
    )
    await stage.run()
    kinds = [kind for kind in stage.trace.types if kind.startswith("tool_")]
    assert kinds == ["tool_execution_start", "tool_execution_update", "tool_execution_end"]
    assert text_of(stage.trace.of(ToolExecutionUpdate)[0].partial_result.content) == "1 2"


async def test_a_failed_call_ends_the_run_without_tools() -> None:
    failing = FakeCall(answer(), error=ProviderError("503 from the server", "overload"))
    stage = Stage(failing)
    end = await stage.loop.run([user("go")], stage.abort)
    assert end.error is failing.error
    assert stage.trace.types[-4:] == ["message_start", "message_end", "turn_end", "agent_end"]


async def test_abort_while_the_call_is_prepared_ends_at_once() -> None:
    class SlowDesk(FakeDesk):
        async def call(self) -> ModelCall:
            preparing.set()
            await asyncio.Event().wait()
            raise AssertionError("nobody sets that event")

    preparing = asyncio.Event()
    bus, trace, abort = EventBus(), Trace(), Abort()
    bus.subscribe(trace)
    run = asyncio.create_task(Loop(bus, Hooks(), SlowDesk(), NoRetry()).run([user("go")], abort))
    await preparing.wait()
    abort.request()
    end = await run
    assert end.answer.stop_reason == "aborted" and end.error is None
    assert trace.types[-4:] == ["message_start", "message_end", "turn_end", "agent_end"]


async def test_cancelling_the_loop_itself_cancels_its_tools() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def hangs(arguments: dict[str, Any], context: ToolCallContext) -> ToolResult:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return says("never")

    stage = Stage(FakeCall(answer(call("a", "bash"), stop="toolUse")), tools=(FakeTool("bash", hangs),))
    run = asyncio.create_task(stage.run())
    await started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    await ended.wait()


async def test_a_raising_hook_ends_the_run_in_order() -> None:
    class BrokenDesk(FakeDesk):
        async def call(self) -> ModelCall:
            raise ZeroDivisionError("in a context hook")

    bus, trace = EventBus(), Trace()
    bus.subscribe(trace)
    end = await Loop(bus, Hooks(), BrokenDesk(), NoRetry()).run([user("go")], Abort())
    assert end.answer.stop_reason == "error"
    assert end.answer.error_message is not None and "in a context hook" in end.answer.error_message
    assert trace.types[-4:] == ["message_start", "message_end", "turn_end", "agent_end"]
