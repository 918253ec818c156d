"""Conversations that every chat template is rendered with."""

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the current weather of a city.\nUnits are metric by default.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "The city, such as \"Zürich\""},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
                "days": {"type": ["integer", "null"], "minimum": 1, "maximum": 14},
            },
            "required": ["city"],
        },
    },
}
SEARCH = {
    "type": "function",
    "function": {
        "name": "search",
        "description": "Search <documents> & files",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "filters": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"key": {"type": "string"}, "weight": {"type": "number"}}},
                },
                "limit": {"type": "integer", "default": 10},
                "exact": {"type": "boolean", "default": False},
                "options": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
            "required": [],
        },
        "return": {"type": "array", "items": {"type": "string"}},
    },
}
EMPTY_TOOL = {"type": "function", "function": {"name": "ping", "description": "", "parameters": {"type": "object", "properties": {}}}}


def user(content):
    return {"role": "user", "content": content}


def assistant(content, **more):
    return {"role": "assistant", "content": content, **more}


def system(content):
    return {"role": "system", "content": content}


def call(name, arguments, id="call00001"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


QUESTION = user("What is the capital of France?")
TURNS = [user("Hello!"), assistant("Hi, how can I help?"), user("Tell me a joke."), assistant("No."), user("Why?")]
TOOL_TURNS = [
    system("You are a weather bot."),
    user("Weather in Zürich and Oslo?"),
    assistant("", tool_calls=[call("get_weather", {"city": "Zürich", "days": 3}), call("get_weather", {"city": "Oslo", "unit": "celsius"}, "call00002")]),
    {"role": "tool", "name": "get_weather", "tool_call_id": "call00001", "content": "{\"temperature\": 21.5, \"sky\": \"clear\"}"},
    {"role": "tool", "name": "get_weather", "tool_call_id": "call00002", "content": "{\"temperature\": -3}"},
]
PARTS = [
    user([{"type": "text", "text": "First part."}, {"type": "text", "text": " Second part."}]),
    assistant([{"type": "text", "text": "Answer in parts."}]),
    user([{"type": "image"}, {"type": "text", "text": "What is this?"}]),
]
DOCUMENTS = [{"title": "Gold", "text": "Gold is a metal.", "doc_id": 1}, {"title": "Tin", "text": "Tin\nis too.", "source": "web"}]


def conversation(messages, *, prompt=True, tools=None, documents=None, **variables):
    return {
        "messages": messages,
        "tools": tools,
        "documents": documents,
        "add_generation_prompt": prompt,
        "special_tokens": {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"},
        "variables": variables,
    }


CONVERSATIONS = {
    "one turn": conversation([QUESTION]),
    "no generation prompt": conversation([QUESTION], prompt=False),
    "system": conversation([system("You are terse."), QUESTION]),
    "turns": conversation(TURNS),
    "system and turns, answered": conversation([system("  Be kind.\n")] + TURNS + [assistant("  Because.  \n")], prompt=False),
    "tools offered": conversation([QUESTION], tools=[WEATHER, SEARCH, EMPTY_TOOL]),
    "tools offered, system": conversation([system("Use tools."), QUESTION], tools=[WEATHER]),
    "tools called": conversation(TOOL_TURNS, tools=[WEATHER, SEARCH]),
    "tools answered": conversation(TOOL_TURNS + [assistant("Warm and cold.")], tools=[WEATHER], prompt=False),
    "one tool called": conversation(
        [QUESTION, assistant(None, tool_calls=[call("search", {"query": "capital", "filters": [{"key": "a", "weight": 0.5}], "exact": True, "options": None})]),
         {"role": "tool", "name": "search", "tool_call_id": "call00001", "content": "Paris"}, assistant("Paris."), user("Thanks <3 & bye")],
        tools=[SEARCH]),
    "arguments as text": conversation(
        [QUESTION, assistant("Let me see.", tool_calls=[call("search", "{\"query\": \"x\"}")]), {"role": "tool", "content": "y", "name": "search", "tool_call_id": "call00001"}],
        tools=[SEARCH]),
    "calls without type": conversation(
        [QUESTION, {"role": "assistant", "tool_calls": [{"name": "ping", "arguments": {}}]}, {"role": "tool", "content": {"ok": True, "n": 1.0}}], tools=[EMPTY_TOOL]),
    "thinking on": conversation([QUESTION], enable_thinking=True, thinking=True),
    "thinking off": conversation([QUESTION], enable_thinking=False, thinking=False),
    "effort": conversation([system("S"), QUESTION], reasoning_effort="high", thinking_budget=512, model_identity="I am M.", builtin_tools=["browser", "python"], tools=[WEATHER]),
    "reasoning": conversation([QUESTION, assistant("Paris.", reasoning_content="France... Paris."), user("Sure?"), assistant("Yes.", thinking="Sure."), user("Really?")], enable_thinking=True),
    "thoughts in text": conversation([QUESTION, assistant("<think>\nHm, Paris.\n</think>\n\nParis."), user("Sure?")]),
    "documents": conversation([QUESTION], documents=DOCUMENTS),
    "documents and tools": conversation([system("Cite."), QUESTION], documents=DOCUMENTS, tools=[SEARCH], citation_mode="accurate"),
    "empty content": conversation([user(""), assistant(""), user("   ")]),
    "null content": conversation([user("a"), assistant(None), user("b")]),
    "missing content": conversation([user("a"), {"role": "assistant"}, user("b")]),
    "parts": conversation(PARTS),
    "system in parts": conversation([system([{"type": "text", "text": "Parts."}]), QUESTION]),
    "media": conversation([user([{"type": "image_url", "image_url": {"url": "x"}}, {"type": "audio"}, {"type": "video"}, {"type": "text", "text": "?"}])], add_vision_id=True),
    "unicode": conversation([system("你好 – ÀÉ"), user("emoji 👩‍👩‍👧 and e\u0301, \u00a0nbsp\u3000\u2028line"), assistant("İstanbul ΣΑΣ straße"), user("\ttabs\r\nand \"quotes\" 'single' \\ {{ not }} {% a %}")]),
    "two users": conversation([user("a"), user("b")]),
    "starts with assistant": conversation([assistant("I begin."), user("ok")]),
    "ends with system": conversation([user("a"), system("late"), user("b")]),
    "unknown role": conversation([{"role": "narrator", "content": "Once upon"}, user("b")]),
    "developer": conversation([{"role": "developer", "content": "D"}, user("b")]),
    "no messages": conversation([]),
    "prefix": conversation([user("a"), assistant("The answer", prefix=True)], prompt=False),
    "empty tools": conversation([QUESTION], tools=[]),
    "switches": conversation([system("S"), QUESTION, assistant("A"), user("B")], tools=[WEATHER], custom_tools=[SEARCH], tools_in_user_message=False, date_string="1 Jan 2026", preserve_thinking=True, keep_past_thinking=True, xml_tools=[WEATHER], python_tools=[]),
}
