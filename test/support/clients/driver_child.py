"""Drives the official Python clients: one JSON line in, one out. See driver.ts for the words."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import anthropic
import openai
from pydantic import BaseModel

OUTPUT_TOKENS_MAX = 512
PLAIN = "x" * 400 + " [cached:40] [reasoning:20]"
TOOLS = "Call get_weather"
STRUCTURED = "Describe a city"
CANCEL = "[words:60] [[fault:slow:10]]"
TOOL_RESULT = "21 degrees"
WEATHER = "Tells the weather of a city"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}


class City(BaseModel):
    city: str


class Target:
    def __init__(self, url, key, model):
        self.url, self.key, self.model = url, key, model
        self.requests = 0

    def count(self, response):
        if response.status_code != 503:
            self.requests += 1

    def openai(self):
        http = openai.DefaultHttpxClient(event_hooks={"response": [self.count]})
        return openai.OpenAI(api_key=self.key, base_url=self.url + "/v1", http_client=http)

    def anthropic(self):
        http = anthropic.DefaultHttpxClient(event_hooks={"response": [self.count]})
        return anthropic.Anthropic(api_key=self.key, base_url=self.url, http_client=http)

    def body(self, prompt):
        messages = [{"role": "user", "content": prompt}]
        return {"model": self.model, "max_tokens": OUTPUT_TOKENS_MAX, "messages": messages}


def openai_tokens(usage):
    if usage is None:
        return {}
    return {"tokens": {"input": usage.prompt_tokens, "output": usage.completion_tokens}}


def openai_plain(target):
    done = target.openai().chat.completions.create(**target.body(PLAIN))
    return {"text": done.choices[0].message.content, **openai_tokens(done.usage)}


def openai_stream(target):
    """The loop of every tutorial: the first choice of each chunk, unchecked."""
    text, usage = "", None
    for chunk in target.openai().chat.completions.create(**target.body(PLAIN), stream=True):
        text += chunk.choices[0].delta.content or ""
        usage = chunk.usage or usage
    return {"text": text, **openai_tokens(usage)}


def openai_stream_with_usage(target):
    text, usage = "", None
    options = {"stream": True, "stream_options": {"include_usage": True}}
    for chunk in target.openai().chat.completions.create(**target.body(PLAIN), **options):
        if chunk.choices:
            text += chunk.choices[0].delta.content or ""
        usage = chunk.usage or usage
    return {"text": text, **openai_tokens(usage)}


def openai_tools(target):
    client = target.openai()
    function = {"name": "get_weather", "description": WEATHER, "parameters": SCHEMA}
    body = {**target.body(TOOLS), "tools": [{"type": "function", "function": function}]}
    first = client.chat.completions.create(**body).choices[0].message
    body["messages"].append(first)
    inputs = []
    for call in first.tool_calls or []:
        inputs.append(json.loads(call.function.arguments))
        result = {"role": "tool", "tool_call_id": call.id, "content": TOOL_RESULT}
        body["messages"].append(result)
    second = client.chat.completions.create(**body)
    return {"text": second.choices[0].message.content, "toolInputs": inputs}


def openai_structured(target):
    body = target.body(STRUCTURED)
    done = target.openai().chat.completions.parse(**body, response_format=City)
    return {"object": done.choices[0].message.parsed.model_dump()}


def openai_cancel(target):
    stream = target.openai().chat.completions.create(**target.body(CANCEL), stream=True)
    for chunk in stream:
        if chunk.choices[0].delta.content:
            stream.close()
            return {"text": chunk.choices[0].delta.content}
    return {}


def anthropic_tokens(usage):
    cached = (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
    return {"tokens": {"input": (usage.input_tokens or 0) + cached, "output": usage.output_tokens}}


def anthropic_text(message):
    return "".join(block.text for block in message.content if block.type == "text")


def anthropic_plain(target):
    message = target.anthropic().messages.create(**target.body(PLAIN))
    return {"text": anthropic_text(message), **anthropic_tokens(message.usage)}


def anthropic_stream(target):
    text, tokens = "", {}
    for event in target.anthropic().messages.create(**target.body(PLAIN), stream=True):
        if event.type == "message_delta":
            tokens = anthropic_tokens(event.usage)
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            text += event.delta.text
    return {"text": text, **tokens}


def anthropic_accumulated(target):
    with target.anthropic().messages.stream(**target.body(PLAIN)) as stream:
        message = stream.get_final_message()
    return {"text": anthropic_text(message), **anthropic_tokens(message.usage)}


def anthropic_tools(target):
    """The client's own loop."""
    inputs = []

    @anthropic.beta_tool
    def get_weather(city: str) -> str:
        """Tells the weather of a city"""
        inputs.append({"city": city})
        return TOOL_RESULT

    body = target.body(TOOLS)
    message = target.anthropic().beta.messages.tool_runner(**body, tools=[get_weather])
    return {"text": anthropic_text(message.until_done()), "toolInputs": inputs}


def anthropic_structured(target):
    body = target.body(STRUCTURED)
    message = target.anthropic().messages.parse(**body, output_format=City)
    return {"object": message.parsed_output.model_dump()}


def anthropic_cancel(target):
    with target.anthropic().messages.stream(**target.body(CANCEL)) as stream:
        for text in stream.text_stream:
            return {"text": text}
    return {}


DEEDS = {
    "openai": {
        "plain": openai_plain,
        "stream": openai_stream,
        "streamWithUsage": openai_stream_with_usage,
        "tools": openai_tools,
        "structured": openai_structured,
        "cancel": openai_cancel,
    },
    "anthropic": {
        "plain": anthropic_plain,
        "stream": anthropic_stream,
        "streamWithUsage": anthropic_accumulated,
        "tools": anthropic_tools,
        "structured": anthropic_structured,
        "cancel": anthropic_cancel,
    },
}
PRINTING = Lock()


def fault_of(error):
    classes = [each.__name__ for each in type(error).__mro__]
    status = getattr(error, "status_code", None)
    return {"classes": classes, "status": status, "message": str(error)}


def obey(line):
    order = json.loads(line)
    target = Target(**order["target"])
    try:
        outcome = DEEDS[order["client"]][order["deed"]](target)
    except Exception as error:  # A fault of the client is what the test wants to see.
        outcome = {"fault": fault_of(error)}
    outcome["requests"] = target.requests
    with PRINTING:
        print(json.dumps({"id": order["id"], "outcome": outcome}), flush=True)


with ThreadPoolExecutor(max_workers=8) as pool:
    for line in sys.stdin:
        pool.submit(obey, line)
