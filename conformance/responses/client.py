"""The package `openai` of PyPI as its documentation uses it. Prints how many checks held."""

import json
import sys
import time

from openai import NotFoundError, OpenAI

client = OpenAI(base_url=sys.argv[1], api_key="none")
checks = 0


def check(held, about):
    global checks
    assert held, about
    checks += 1


whole = client.responses.create(model="chat", input="hello")
check(whole.output_text.startswith("**Hello!**"), whole.output_text)

with client.responses.stream(model="chat", input="hello") as stream:
    numbers = [event.sequence_number for event in stream]
    final = stream.get_final_response()
check(final.output_text == whole.output_text, final.output_text)
check(numbers == list(range(len(numbers))), numbers)

events = list(client.responses.create(model="chat", input="hello", stream=True))
response = events[0].response.id
rest = list(client.responses.retrieve(response, stream=True, starting_after=7))
check([event.to_dict() for event in rest] == [event.to_dict() for event in events[8:]], rest)

tools = [{"type": "function", "name": "get_location", "parameters": {"type": "object", "properties": {}}}]
asked = client.responses.create(model="tools", input="where am I?", tools=tools)
call = next(item for item in asked.output if item.type == "function_call")
output = {"type": "function_call_output", "call_id": call.call_id, "output": json.dumps({"city": "Oslo"})}
answered = client.responses.create(model="tools", previous_response_id=asked.id, input=[output], tools=tools)
check(answered.output_text == "You are in Oslo.", answered.output_text)

known = client.responses.create(model="tools", previous_response_id=answered.id, input="weather in Paris")
check("Paris" in known.output_text, known.output_text)

begun = client.responses.create(model="chat", input="long", background=True)
while (now := client.responses.retrieve(begun.id)).status in ("queued", "in_progress"):
    time.sleep(0.02)
check(now.status == "completed" and len(now.output_text) > 1000, now.status)

begun = client.responses.create(model="chat", input="long", background=True)
check(client.responses.cancel(begun.id).status == "cancelled", begun.id)

try:
    client.responses.create(model="nobody", input="x")
except NotFoundError as error:
    check(error.code == "agent.unknown" and error.param == "model", error)

print(f"ok {checks}")
