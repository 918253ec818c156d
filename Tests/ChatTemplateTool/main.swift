import AccelByteIO
import AccelChatTemplates

// Renders templates for scripts/chat_templates.py. Each line of the input is a JSON object with `source`, `limits` and a list of
// `inputs`; each line of the output is the list of results: objects with `text`, or with `error`, `line` and `kind`.

func input(_ json: JSON) -> ChatInput {
    func members(_ key: String) -> [JSON.Member] {
        if case .object(let members)? = json[key] { members } else { [] }
    }
    return ChatInput(
        messages: json["messages"] ?? .array([]), tools: json["tools"], documents: json["documents"],
        addGenerationPrompt: json["add_generation_prompt"] == .bool(true), specialTokens: members("special_tokens"),
        variables: members("variables"))
}

func failure(_ error: any Error) -> JSON {
    guard let error = error as? ChatTemplateError else { return ["error": .string("\(error)"), "line": .null] }
    return [
        "error": .string(error.reason), "line": .integer(Int64(error.line)), "kind": .string("\(error.kind)"),
    ]
}

let now = ChatTime(year: 2026, month: 7, day: 4, hour: 15, minute: 9, second: 5)

func results(_ line: String) throws -> [JSON] {
    let bytes = ByteView(Array(line.utf8))
    let job = try JSON.parse(bytes, file: "stdin", limits: JSON.Limits(depth: 400))
    guard case .string(let source)? = job["source"], case .array(let inputs)? = job["inputs"] else { return [] }
    let template: ChatTemplate
    do {
        template = try ChatTemplate(source, name: "template")
    } catch {
        return inputs.map { _ in failure(error) }
    }
    return inputs.map { json in
        do {
            return ["text": .string(try template.render(input(json), now: now))]
        } catch {
            return failure(error)
        }
    }
}

while let line = readLine() {
    print(JSON.array(try results(line)).text())
}
