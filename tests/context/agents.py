"""A scripted agent: what a model and its tools say, turn after turn, in any format; the same for the same seed."""

import json
import random

SYSTEM = "You are a careful agent. Read before you write."
NAMES = ("read_file", "run_tests", "write_file")
WORDS = (
    *("alpha", "beta", "gamma", "delta", "river", "stone", "window", "table", "signal", "garden", "copper", "violet"),
    *("ladder", "market", "thunder", "silver", "needle", "harbor", "pocket", "velvet", "anchor", "basket", "candle"),
)


def tools(format):
    """The schemas of the tools, in a format."""
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    if format == "anthropic":
        return [{"name": name, "description": "A tool.", "input_schema": schema} for name in NAMES]
    if format == "openai-chat":
        return [{"type": "function", "function": {"name": name, "parameters": schema}} for name in NAMES]
    if format == "openai-responses":
        return [{"type": "function", "name": name, "parameters": schema} for name in NAMES]
    return [{"functionDeclarations": [{"name": name, "parameters": schema} for name in NAMES]}]


class Script:
    """Says what comes next."""

    def __init__(self, format, *, seed=0, words=60):
        """`words`: of an average result."""
        self.format = format
        self.random = random.Random(f"{format} {seed}")
        self.words = words
        self.turn = 0
        self.count = 0
        self.names = 0

    def name(self, kind):
        """A new id."""
        self.names += 1
        return f"{kind}_{self.names}"

    def text(self, words):
        """So many words."""
        return " ".join(self.random.choice(WORDS) for _ in range(words))

    def request(self):
        """What the user asks, in the format."""
        self.turn += 1
        text = f"Request {self.turn}: {self.text(12)}"
        if self.turn % 7 == 0:
            text += f"\nEXACT CONTINUATION RECORD [Decisions and rationale] :: decision {self.turn} holds"
        if self.format == "gemini":
            return {"role": "user", "parts": [{"text": text}]}
        if self.format == "openai-responses":
            return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        return {"role": "user", "content": text}

    def answer(self, *, calls):
        """What the model answers with so many calls, in the format: the messages or items, and the ids of the calls."""
        said = f"Answer to {self.turn}: {self.text(10)}"
        made = []
        for _ in range(calls):
            self.count += 1
            made.append((f"call_{self.count}", self.random.choice(NAMES), {"path": f"src/file_{self.count % 9}.py"}))
        return getattr(self, "_answer_" + self.format.replace("-", "_"))(said, made), made

    def _answer_anthropic(self, said, made):
        thought = {"type": "thinking", "thinking": self.text(8), "signature": f"sig{self.count}"}
        blocks = [thought, {"type": "text", "text": said}]
        blocks += [{"type": "tool_use", "id": id, "name": name, "input": given} for id, name, given in made]
        usage = {"input_tokens": 1, "output_tokens": 1}
        return {"id": self.name("msg"), "type": "message", "role": "assistant", "model": "m",
                "content": blocks, "stop_reason": "end_turn", "usage": usage}  # fmt: skip

    def _answer_openai_chat(self, said, made):
        message = {"role": "assistant", "content": said}
        if made:
            message["tool_calls"] = [
                {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(given, indent=1)}}
                for id, name, given in made
            ]
        return message

    def _answer_openai_responses(self, said, made):
        items = [{"type": "reasoning", "id": self.name("rs"), "summary": [], "encrypted_content": "zz"}]
        items.append(
            {
                "type": "message",
                "id": self.name("msg"),
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": said, "annotations": []}],
            }
        )
        items += [
            {"type": "function_call", "call_id": id, "name": name, "arguments": json.dumps(given), "id": f"fc_{id}"}
            for id, name, given in made
        ]
        return items

    def _answer_gemini(self, said, made):
        parts = [{"text": said}]
        for id, name, given in made:
            parts.append({"functionCall": {"name": name, "args": given}, "thoughtSignature": f"s{id}"})
        return {"role": "model", "parts": parts}

    def results(self, made):
        """The results of calls, in the format: the messages."""
        texts = [(id, name, self.text(self.random.randrange(self.words // 2, self.words * 2))) for id, name, _ in made]
        if self.format == "anthropic":
            blocks = [{"type": "tool_result", "tool_use_id": id, "content": text} for id, _, text in texts]
            return [{"role": "user", "content": blocks}]
        if self.format == "openai-chat":
            return [{"role": "tool", "tool_call_id": id, "content": text} for id, _, text in texts]
        if self.format == "openai-responses":
            return [{"type": "function_call_output", "call_id": id, "output": text} for id, _, text in texts]
        given = [{"functionResponse": {"name": name, "response": {"result": text}}} for _, name, text in texts]
        return [{"role": "user", "parts": given}]


def usage(format, prompt, completion):
    """As the provider of a format would say it."""
    if format == "openai-chat":
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    if format == "gemini":
        return {"promptTokenCount": prompt, "candidatesTokenCount": completion}
    return {"input_tokens": prompt, "output_tokens": completion}
