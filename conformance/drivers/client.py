"""The official Python client, over HTTP and stdio.

    python client.py legacy|auto http|stdio

Reports as the other drivers do: one line of JSON for each check.
"""

import base64
import json
import os
import sys
import time
from contextlib import AsyncExitStack

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

SETTING = json.loads(os.environ["CONFORMANCE"])
MODE, CARRIER = sys.argv[1:3]
WANTED = {"legacy": "2025-11-25", "auto": "2026-07-28"}[MODE]


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


def text_of(result):
    return "\n".join(part.text for part in result.content if part.type == "text")


async def check(name, run):
    begin, line = time.monotonic(), {"name": name, "ok": True}
    try:
        with anyio.fail_after(60):
            line["detail"] = await run()
    except Exception as error:  # whatever it is, the check failed and the next one runs
        line.update(ok=False, detail=f"{type(error).__name__}: {error}"[:600])
    line["ms"] = round((time.monotonic() - begin) * 1000)
    print(json.dumps(line), flush=True)


async def connect(stack):
    if CARRIER == "http":
        # No limit on reading: progress and results come when they come.
        http = await stack.enter_async_context(
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {SETTING['token']}"}, timeout=httpx2.Timeout(30, read=None))
        )
        server = streamable_http_client(SETTING["url"], http_client=http)
    else:
        state = os.path.join(SETTING["work"], f"state-python-{MODE}")
        server = StdioServerParameters(
            command=SETTING["writ"],
            args=["stdio", "--config", SETTING["config"], "--state-dir", state],
            env={"PATH": os.environ["PATH"], "HOME": SETTING["work"]},
        )
    return await stack.enter_async_context(Client(server, mode=MODE))


async def checks(client):
    async def revision():
        expect(client.protocol_version == WANTED, f"revision {client.protocol_version}, want {WANTED}")
        expect(client.server_info.name == "writ", f"name {client.server_info.name}")

    async def tools():
        found, cursor = {}, None
        while True:
            page = await client.list_tools(cursor=cursor)
            found.update((tool.name, tool) for tool in page.tools)
            cursor = page.next_cursor
            if cursor is None:
                break
        for name in ("test_simple_text", "test_structured", "test_change", "writ_inspect", "writ_tools", "writ_invoke"):
            expect(name in found, f"{name} is not listed")
        expect(found["test_simple_text"].annotations.read_only_hint is True, "test_simple_text is not called read-only")
        expect(found["test_change"].annotations.read_only_hint is not True, "test_change is called read-only")
        return f"{len(found)} tools"

    async def call():
        result = await client.call_tool("test_simple_text", {})
        expect(not result.is_error and text_of(result).startswith("This is a simple text"), f"{result}")

    async def structured():
        result = await client.call_tool("test_structured", {"text": "grüße"})
        expect(result.structured_content == {"text": "grüße", "times": 1}, f"{result.structured_content}")

    async def image():
        result = await client.call_tool("test_image_content", {})
        (data,) = [part.data for part in result.content if part.type == "image"]
        expect(base64.b64decode(data).startswith(b"\x89PNG"), "no PNG")

    def refused(tool, arguments, word):
        async def run():
            result = await client.call_tool(tool, arguments)
            expect(result.is_error and word in text_of(result), f"{result}")
            return text_of(result)

        return run

    async def unknown():
        try:
            result = await client.call_tool("no_such_tool", {})
        except MCPError as error:
            expect(error.code == -32602, f"code {error.code}")
            return error.message
        raise AssertionError(f"answered {result}")

    async def progress():
        seen = []

        async def heard(done, _total, message):
            seen.append((done, message))

        await client.call_tool("test_tool_with_progress", {}, progress_callback=heard)
        expect(len(seen) >= 3, f"{len(seen)} notifications")
        expect(all(a[0] < b[0] for a, b in zip(seen, seen[1:])), f"does not rise: {seen}")
        return f"{len(seen)} notifications"

    async def cancel():
        with anyio.move_on_after(0.5) as scope:
            await client.call_tool("test_wait", {"seconds": 20})
        expect(scope.cancelled_caught, "was not cancelled")
        await call()

    async def together():
        async with anyio.create_task_group() as group:
            for _ in range(16):
                group.start_soon(structured)

    async def meta():
        seen = (await client.call_tool("writ_inspect", {})).structured_content
        expect(seen["server"] == "writ" and WANTED in seen["protocol_versions"], f"{seen}")
        result = await client.call_tool("writ_invoke", {"tool": "test_structured", "arguments": {"text": "a", "times": 2}})
        expect(result.structured_content == {"text": "a", "times": 2}, f"{result}")

    await check(f"connect, revision {WANTED}", revision)
    await check("list tools", tools)
    await check("call", call)
    await check("structured content", structured)
    await check("image", image)
    await check("a failing tool", refused("test_error_handling", {}, "exit code 1"))
    await check("bad arguments", refused("test_structured", {"text": "a", "times": 11}, "at most 10"))
    await check("a call that needs a person", refused("test_change", {"what": "the weather"}, "approve"))
    await check("a call that policy denies", refused("test_change", {"what": "the server"}, "not changed from here"))
    await check("unknown tool", unknown)
    await check("progress", progress)
    await check("cancel", cancel)
    await check("sixteen calls at once", together)
    await check("meta tools", meta)
    if MODE == "auto":
        await check("list_changed when an edited file adds a tool", lambda: changed(client))


async def changed(client):
    path = os.path.join(SETTING["config"], "tools.d", "clients.yaml")
    with open(path, encoding="utf-8") as file:
        before = file.read()

    def write(text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    tool = "kind: Tool\nname: test_added\ndescription: Answers with a word.\nrisk: read_only\ncommand: {argv: [echo, added]}\n"
    try:
        async with client.listen(tools_list_changed=True) as events:
            write(before + "---\n" + tool)
            with anyio.fail_after(15):
                async for _ in events:
                    break
        names = [tool.name for tool in (await client.list_tools(cache_mode="refresh")).tools]
        expect("test_added" in names, "the added tool is not listed")
    finally:
        write(before)


async def main():
    async with AsyncExitStack() as stack:
        await checks(await connect(stack))
    print(json.dumps({"name": "close", "ok": True}), flush=True)
    print(json.dumps({"finished": True}), flush=True)


anyio.run(main)
