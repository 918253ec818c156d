import AccelByteIO
import AccelHostTools
import AccelHub
import AccelPlatform
import HubTestSupport

// Downloads, for scripts/hub_layout.py:
//     HubTool fetch hf:OWNER/NAME[@REVISION][:FILE] [--offline|--refresh]
//         prints the folder, the commit and the file
//     HubTool serve OWNER/NAME COMMIT FOLDER
//         serves a folder as a repository until its standard input ends, and prints its address; then each request
/// Prints a line at once, because another program waits for it.
func say(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    _ = write(1, bytes, bytes.count)
}
let words = Array(CommandLine.arguments.dropFirst())
do {
    switch words.first {
    case "fetch"? where words.count >= 2:
        let environment = try HubEnvironment(ProcessEnvironment.all)
        let hub = Hub(environment, CurlHubTransport(environment: ProcessEnvironment.all))
        let access: HubAccess =
            words.contains("--offline") ? .offline : words.contains("--refresh") ? .refreshed : .ifNeeded
        let snapshot = try hub.fetch(HubReference(parsing: words[1]), access: access) { progress in
            // As a test reads it.
            if words.contains("--progress") { say("\(progress.doneBytes) \(progress.totalBytes)") }
        }
        say([snapshot.folder, snapshot.commit, snapshot.file ?? "-"].joined(separator: "\n"))
    case "serve"? where words.count == 4:
        let folder = words[3]
        func paths(in folder: String, _ prefix: String = "") throws -> [String] {
            try Files.list(folder).flatMap { name in
                let isFolder = Files.kind(of: "\(folder)/\(name)") == .folder
                return isFolder ? try paths(in: "\(folder)/\(name)", "\(prefix)\(name)/") : [prefix + name]
            }
        }
        var files: [String: LocalHub.File] = [:]
        for path in try paths(in: folder) {
            let bytes = try MappedFile("\(folder)/\(path)").bytes.withBytes { Array($0) }
            let isLarge = [".safetensors", ".gguf"].contains { path.hasSuffix($0) }
            files[path] = LocalHub.File(bytes, isLarge: isLarge)
        }
        let content = try LocalHub(words[1], commit: words[2], files: files)
        let server = try LocalHub(words[1], commit: words[2], files: files, contentHost: content)
        say(server.endpoint)
        if words[1].hasSuffix("-slow") { content.fail("/content/", .slow(microseconds: 20_000), times: .max) }
        while readLine() != nil {
            for request in server.requests + content.requests {
                say("\(request.method) \(request.path) \(request.range ?? "-") \(request.sentBytes)")
            }
            say(".")
            server.forget()
            content.forget()
        }
    default:
        say("usage: HubTool fetch REFERENCE | HubTool serve OWNER/NAME COMMIT FOLDER")
        exit(2)
    }
} catch {
    say("\(error)")
    exit(1)
}
