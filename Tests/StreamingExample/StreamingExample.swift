import Accel

/// A conversation in tokens: generates an answer to each line of tokens, over one session.
///
///     echo 5,17,3 | StreamingExample PACKAGE 8
///
/// Prints the tokens of each answer as they come, and how it ended.
@main
enum StreamingExample {
    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count == 3, let most = Int(words[2]) else {
            return print("usage: StreamingExample PACKAGE NUMBER-OF-TOKENS")
        }
        let model = try await AccelModel(.path(words[1]), configuration: .lowLatency)
        let session = try model.makeSession()
        var options = GenerationOptions(maxTokens: most)
        options.timeLimit = .seconds(30)
        var conversation: [Int64] = []
        while let line = readLine() {
            conversation += line.split(separator: ",").compactMap { Int64($0) }
            // What the session holds of the conversation does not run again.
            let stream = session.generate(from: conversation, options)
            for try await token in stream {
                print(token, terminator: " ")
                conversation.append(token)
            }
            guard let end = stream.summary else { continue }
            print("[\(end.reason), \(end.reusedTokens) of \(end.reusedTokens + end.promptTokens) tokens reused]")
        }
    }
}
