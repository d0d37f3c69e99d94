// The calls, in the words of each vendor's own SDK. Each function gets the address of a server that keeps what it is sent.
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { Mistral } from "@mistralai/mistralai";
import Groq from "groq-sdk";
import OpenAI from "openai";

const question = "What is the weather in Oslo?";
const thought = "They want the weather.";
const shape = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const png = "iVBORw0KGgo=";
const pngUrl = `data:image/png;base64,${png}`;
const called = { id: "callA1234", arguments: JSON.stringify({ city: "Oslo" }) };

// OpenAI's responses.
const functionTool = { type: "function", name: "weather", description: "Reports the weather", parameters: shape, strict: true };
const callItem = { type: "function_call", call_id: called.id, name: "weather", arguments: called.arguments };
const outputItem = { type: "function_call_output", call_id: called.id, output: "4 °C" };
const asked = (text) => ({ role: "user", content: [{ type: "input_text", text }] });
const response = (fields) => (url) =>
  new OpenAI({ apiKey: "k", baseURL: url, maxRetries: 0 }).responses.create({
    model: "gpt-5.1",
    max_output_tokens: 100,
    store: false,
    include: ["reasoning.encrypted_content"],
    ...fields,
  });

// Chat completions, as OpenAI, Groq and DeepSeek take them.
const chatTool = { type: "function", function: { name: "weather", description: "Reports the weather", parameters: shape } };
const toolCall = { id: called.id, type: "function", function: { name: "weather", arguments: called.arguments } };
const toolMessage = { role: "tool", tool_call_id: called.id, content: "4 °C" };
const jsonFormat = { type: "json_schema", json_schema: { name: "city", schema: shape, strict: true } };
const picture = [
  { type: "text", text: "What is this?" },
  { type: "image_url", image_url: { url: pngUrl } },
];
const chat = (client, model, limit) => (fields) => (url) =>
  client(url).chat.completions.create({ model, [limit]: 100, ...fields });
const openaiChat = chat((url) => new OpenAI({ apiKey: "k", baseURL: url, maxRetries: 0 }), "gpt-4.1", "max_completion_tokens");
const groq = chat((url) => new Groq({ apiKey: "k", baseURL: url, maxRetries: 0 }), "openai/gpt-oss-120b", "max_completion_tokens");
const deepseek = chat((url) => new OpenAI({ apiKey: "k", baseURL: url, maxRetries: 0 }), "deepseek-reasoner", "max_tokens");

// Anthropic's messages.
const anthropicTool = { name: "weather", description: "Reports the weather", input_schema: shape };
const block = (text) => [{ type: "text", text }];
const message = (fields) => (url) =>
  new Anthropic({ apiKey: "k", baseURL: url, maxRetries: 0 }).messages.create({
    model: "claude-sonnet-4-5",
    max_tokens: 100,
    ...fields,
  });
const toolUse = { type: "tool_use", id: called.id, name: "weather", input: { city: "Oslo" } };
const toolResult = { type: "tool_result", tool_use_id: called.id, content: "4 °C" };

// Google's generateContent.
const generate = (fields) => (url) =>
  new GoogleGenAI({ apiKey: "k", httpOptions: { baseUrl: url } }).models.generateContent({
    model: "gemini-2.5-pro",
    ...fields,
    config: { maxOutputTokens: 100, ...fields.config },
  });
const googleTools = [
  { functionDeclarations: [{ name: "weather", description: "Reports the weather", parametersJsonSchema: shape }] },
];
const functionCall = { functionCall: { name: "weather", args: { city: "Oslo" } } };
const functionResponse = { functionResponse: { name: "weather", response: { output: "4 °C" } } };
const said = (role, ...parts) => ({ role, parts });

// Mistral's chat, whose SDK has names of its own.
const mistralTool = { type: "function", function: { name: "weather", description: "Reports the weather", parameters: shape } };
const mistralCall = { id: called.id, type: "function", function: { name: "weather", arguments: called.arguments } };
const mistralResult = { role: "tool", toolCallId: called.id, name: "weather", content: "4 °C" };
const mistral = (fields) => (url) =>
  new Mistral({ apiKey: "k", serverURL: url, retryConfig: { strategy: "none" } }).chat.complete({
    model: "magistral-medium-latest",
    maxTokens: 100,
    ...fields,
  });

export const calls = {
  "openai.text": response({ instructions: undefined, input: [{ role: "system", content: "Be brief." }, asked("Hello")] }),
  "openai.tools": response({ input: [asked(question)], tools: [functionTool], tool_choice: "required" }),
  "openai.tool-results": response({ input: [asked(question), callItem, outputItem], tools: [functionTool] }),
  "openai.image": response({
    input: [
      {
        role: "user",
        content: [
          { type: "input_text", text: "What is this?" },
          { type: "input_image", image_url: pngUrl },
        ],
      },
    ],
  }),
  "openai.schema": response({
    input: [asked("Name a city.")],
    text: { format: { type: "json_schema", name: "city", schema: shape, strict: true } },
  }),
  "openai.reasoning-echo": response({
    input: [
      asked(question),
      { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: thought }], encrypted_content: "sealed" },
      callItem,
      outputItem,
    ],
    tools: [functionTool],
  }),

  "openai-chat.text": openaiChat({ messages: [{ role: "system", content: "Be brief." }, { role: "user", content: "Hello" }] }),
  "openai-chat.tools": openaiChat({
    messages: [{ role: "user", content: question }],
    tools: [chatTool],
    tool_choice: "required",
  }),
  "openai-chat.tool-results": openaiChat({
    messages: [{ role: "user", content: question }, { role: "assistant", content: null, tool_calls: [toolCall] }, toolMessage],
    tools: [chatTool],
  }),
  "openai-chat.image": openaiChat({ messages: [{ role: "user", content: picture }] }),
  "openai-chat.schema": openaiChat({ messages: [{ role: "user", content: "Name a city." }], response_format: jsonFormat }),

  "groq.text": groq({ messages: [{ role: "system", content: "Be brief." }, { role: "user", content: "Hello" }] }),
  "groq.tools": groq({ messages: [{ role: "user", content: question }], tools: [chatTool], tool_choice: "required" }),
  "groq.tool-results": groq({
    messages: [{ role: "user", content: question }, { role: "assistant", content: null, tool_calls: [toolCall] }, toolMessage],
    tools: [chatTool],
  }),
  "groq.image": groq({ messages: [{ role: "user", content: picture }] }),
  "groq.schema": groq({ messages: [{ role: "user", content: "Name a city." }], response_format: jsonFormat }),
  "groq.reasoning-echo": groq({
    messages: [
      { role: "user", content: question },
      { role: "assistant", content: null, reasoning: thought, tool_calls: [toolCall] },
      toolMessage,
    ],
    tools: [chatTool],
  }),

  "deepseek.text": deepseek({ messages: [{ role: "system", content: "Be brief." }, { role: "user", content: "Hello" }] }),
  "deepseek.tools": deepseek({
    messages: [{ role: "user", content: question }],
    tools: [chatTool],
    tool_choice: "required",
  }),
  "deepseek.tool-results": deepseek({
    messages: [{ role: "user", content: question }, { role: "assistant", content: null, tool_calls: [toolCall] }, toolMessage],
    tools: [chatTool],
  }),
  "deepseek.image": deepseek({ messages: [{ role: "user", content: picture }] }),
  // It has no schema option: the schema is described in the prompt.
  "deepseek.schema": deepseek({
    messages: [
      {
        role: "system",
        content: `Answer with JSON only, without any other text. It must fit this JSON Schema: ${JSON.stringify(shape)}`,
      },
      { role: "user", content: "Name a city." },
    ],
    response_format: { type: "json_object" },
  }),
  "deepseek.reasoning-echo": deepseek({
    messages: [
      { role: "user", content: question },
      { role: "assistant", content: null, reasoning_content: thought, tool_calls: [toolCall] },
      toolMessage,
    ],
    tools: [chatTool],
  }),

  "anthropic.text": message({ system: block("Be brief."), messages: [{ role: "user", content: block("Hello") }] }),
  "anthropic.tools": message({
    messages: [{ role: "user", content: block(question) }],
    tools: [anthropicTool],
    tool_choice: { type: "any" },
  }),
  "anthropic.tool-results": message({
    messages: [
      { role: "user", content: block(question) },
      { role: "assistant", content: [toolUse] },
      { role: "user", content: [toolResult] },
    ],
    tools: [anthropicTool],
  }),
  "anthropic.image": message({
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
        ],
      },
    ],
  }),
  "anthropic.schema": message({
    messages: [{ role: "user", content: block("Name a city.") }],
    output_config: { format: { type: "json_schema", schema: shape } },
  }),
  "anthropic.reasoning-echo": message({
    messages: [
      { role: "user", content: block(question) },
      { role: "assistant", content: [{ type: "thinking", thinking: thought, signature: "signed" }, toolUse] },
      { role: "user", content: [toolResult] },
    ],
    tools: [anthropicTool],
  }),

  "google.text": generate({ contents: [said("user", { text: "Hello" })], config: { systemInstruction: said("user", { text: "Be brief." }) } }),
  "google.tools": generate({
    contents: [said("user", { text: question })],
    config: { tools: googleTools, toolConfig: { functionCallingConfig: { mode: "ANY" } } },
  }),
  "google.tool-results": generate({
    contents: [said("user", { text: question }), said("model", functionCall), said("user", functionResponse)],
    config: { tools: googleTools },
  }),
  "google.image": generate({
    contents: [said("user", { text: "What is this?" }, { inlineData: { mimeType: "image/png", data: png } })],
  }),
  "google.schema": generate({
    contents: [said("user", { text: "Name a city." })],
    config: { responseMimeType: "application/json", responseJsonSchema: shape },
  }),
  "google.reasoning-echo": generate({
    contents: [
      said("user", { text: question }),
      said("model", { ...functionCall, thoughtSignature: "c2lnbmVk" }),
      said("user", functionResponse),
    ],
    config: { tools: googleTools },
  }),

  "mistral.text": mistral({ messages: [{ role: "system", content: "Be brief." }, { role: "user", content: "Hello" }] }),
  "mistral.tools": mistral({ messages: [{ role: "user", content: question }], tools: [mistralTool], toolChoice: "any" }),
  "mistral.tool-results": mistral({
    messages: [{ role: "user", content: question }, { role: "assistant", content: null, toolCalls: [mistralCall] }, mistralResult],
    tools: [mistralTool],
  }),
  "mistral.image": mistral({
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "image_url", imageUrl: { url: pngUrl } },
        ],
      },
    ],
  }),
  "mistral.schema": mistral({
    messages: [{ role: "user", content: "Name a city." }],
    responseFormat: { type: "json_schema", jsonSchema: { name: "city", schemaDefinition: shape, strict: true } },
  }),
  "mistral.reasoning-echo": mistral({
    messages: [
      { role: "user", content: question },
      {
        role: "assistant",
        content: [{ type: "thinking", thinking: [{ type: "text", text: thought }] }],
        toolCalls: [mistralCall],
      },
      mistralResult,
    ],
    tools: [mistralTool],
  }),
};
