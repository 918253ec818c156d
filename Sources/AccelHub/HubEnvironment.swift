import AccelByteIO

/// The settings that environment variables make: those of Hugging Face's own library, with the same defaults.
public struct HubEnvironment: Sendable {
    /// The address of the server without a slash at the end: `HF_ENDPOINT`.
    public let endpoint: String
    /// The folder of the cache: `HF_HUB_CACHE`, `HF_HOME/hub`, or `~/.cache/huggingface/hub`.
    public let cacheFolder: String
    /// No request is made: `HF_HUB_OFFLINE`.
    public let isOffline: Bool
    /// The token: `HF_TOKEN`, or the content of the token file; nil for none. It is sent to `endpoint` only.
    let token: HubToken?

    /// Reads the variables.
    /// - Parameter variables: values by name; empty values count as missing.
    /// - Throws: `HubError` (`invalidEnvironment`) for a value that cannot be used.
    public init(_ variables: [String: String]) throws(HubError) {
        func value(_ names: String...) -> String? {
            names.lazy.compactMap { variables[$0] }.first { !$0.isEmpty }
        }
        func isOn(_ names: String...) -> Bool {
            names.contains { ["1", "on", "yes", "true"].contains(variables[$0]?.lowercased()) }
        }
        /// Returns the absolute path in a variable, in which a leading `~` is the home folder; nil without a value.
        func path(_ names: String...) throws(HubError) -> String? {
            guard let name = names.first(where: { value($0) != nil }), let text = value(name) else { return nil }
            guard text == "~" || text.hasPrefix("~/") else { return Files.absolutePath(of: text) }
            guard let home = value("HOME") else {
                throw HubError(.invalidEnvironment, subject: name, expected: "a path without \"~\", as HOME is not set")
            }
            return Files.absolutePath(of: home + text.dropFirst())
        }

        let address = value("HF_ENDPOINT").map(Files.trimmingSlashes) ?? "https://huggingface.co"
        guard HubAddress(address) != nil else {
            throw HubError(
                .invalidEnvironment, subject: "HF_ENDPOINT", expected: "an address such as https://huggingface.co",
                found: address)
        }
        endpoint = address
        let (user, caches, chosen) = (try path("HOME"), try path("XDG_CACHE_HOME"), try path("HF_HOME"))
        let home = chosen ?? (caches ?? user.map { "\($0)/.cache" }).map { "\($0)/huggingface" }
        let (cache, tokenFile) = (try path("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"), try path("HF_TOKEN_PATH"))
        guard let folder = cache ?? home.map({ "\($0)/hub" }) else {
            throw HubError(.invalidEnvironment, subject: "HF_HUB_CACHE", expected: "a folder, as HOME is not set")
        }
        cacheFolder = folder
        isOffline = isOn("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
        if let text = value("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN") {
            token = try HubToken(text, of: "HF_TOKEN")
        } else if !isOn("HF_HUB_DISABLE_IMPLICIT_TOKEN"), let file = tokenFile ?? home.map({ "\($0)/token" }) {
            token = try HubToken(file: file)
        } else {
            token = nil
        }
    }
}

/// A secret that no description shows.
struct HubToken: Sendable, CustomStringConvertible, CustomReflectable {
    let secret: String
    var description: String { "a token" }
    var customMirror: Mirror { Mirror(self, children: []) }

    /// Returns nil for a text of white space.
    init?(_ text: String, of name: String) throws(HubError) {
        let spaces: Set<Unicode.Scalar> = [" ", "\n", "\r", "\t"]
        let scalars = text.unicodeScalars.split(whereSeparator: spaces.contains)
        guard let word = scalars.first else { return nil }
        guard scalars.count == 1, word.allSatisfy({ (33...126).contains($0.value) }) else {
            throw HubError(.invalidEnvironment, subject: name, expected: "one word of printable ASCII characters")
        }
        secret = String(word)
    }

    /// Returns nil if there is no such file, or nothing in it.
    init?(file path: String) throws(HubError) {
        guard Files.kind(of: path) != nil else { return nil }
        do {
            let text = try FileContent(path, atMost: 1 << 12).bytes.withBytes { String(decoding: $0, as: UTF8.self) }
            try self.init(text, of: path)
        } catch let error as HubError {
            throw error
        } catch {
            throw HubError(.invalidEnvironment, subject: path, expected: "a readable file with a token")
        }
    }
}
