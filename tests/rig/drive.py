"""Holds one conversation with the vendor's agent; run by the Python that has `google-antigravity`, never imported.

Usage: python drive.py SPEC.json

SPEC: {url, work, save, app, conversation or null, prompts, init, result}.  `init` is merged into the message that opens
a conversation, for settings that the SDK does not offer.  `result` is the file that gets
{conversation, answers: [text of each prompt's answer], error: text or null}; the harness does not go on after an error.
"""

import asyncio
import json
import sys
from pathlib import Path

from google.antigravity import Agent, LocalAgentConfig, types
from google.antigravity.connections.local import local_connection
from google.antigravity.hooks import policy

SPEC = json.loads(Path(sys.argv[1]).read_text())
LIMIT_S = 60


def merge(into, more):
    """Puts the members of `more` into `into`, at any depth."""
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value


class StartMessage:
    """Stands in for the SDK's protobuf-to-JSON module: adds SPEC's `init` to the message that opens a conversation."""

    real = local_connection.json_format

    def __getattr__(self, name):
        return getattr(self.real, name)

    def MessageToJson(self, message, *args, **kwargs):
        text = self.real.MessageToJson(message, *args, **kwargs)
        if type(message).__name__ == "InitializeConversationEvent":
            event = json.loads(text)
            merge(event["config"], SPEC["init"])
            text = json.dumps(event)
        return text


async def converse():
    """Says every prompt and waits for its answer."""
    endpoint = types.GeminiAPIEndpoint(base_url=SPEC["url"])
    model = types.ModelTarget(name="gemini-3-flash-preview", types=[types.ModelType.TEXT], endpoint=endpoint)
    earlier = {"conversation_id": SPEC["conversation"]} if SPEC["conversation"] else {}
    config = LocalAgentConfig(
        models=[model],
        workspaces=[SPEC["work"]],
        save_dir=SPEC["save"],
        app_data_dir=SPEC["app"],
        policies=[policy.allow_all()],
        **earlier,
    )
    result = {"conversation": None, "answers": [], "error": None}
    async with Agent(config) as agent:
        for prompt in SPEC["prompts"]:
            try:
                answer = await agent.chat(prompt)
                result["answers"].append(await answer.text())
            except Exception as error:
                result["error"] = str(error)[:1000]
                break
        result["conversation"] = agent.conversation_id
    Path(SPEC["result"]).write_text(json.dumps(result))


local_connection.json_format = StartMessage()
asyncio.run(asyncio.wait_for(converse(), LIMIT_S))
