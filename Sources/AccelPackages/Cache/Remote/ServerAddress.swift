import AccelByteIO

/// An address `http://HOST/PATH` or `https://...` (RFC 3986), optionally with user and port, without query and
/// fragment.
struct ServerAddress {
    /// The address without the user, and without trailing slashes.
    let publicText: String

    /// Returns nil for any other text.
    init?(_ text: String) {
        let isPlain = text.unicodeScalars.allSatisfy {
            $0.value > 32 && $0.value != 127 && !["\"", "\\", "?", "#", "<", ">"].contains($0)
        }
        guard isPlain, let scheme = ["http://", "https://"].first(where: { text.lowercased().hasPrefix($0) }) else {
            return nil
        }
        let rest = text.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        guard Self.isHostAndPort(host) else { return nil }
        publicText = Files.trimmingSlashes("\(scheme)\(host)\(rest.dropFirst(authority.count))")
    }

    /// Returns whether a text is `host`, `host:80`, `[::1]` or `[::1]:80`.
    private static func isHostAndPort(_ text: Substring) -> Bool {
        let host: Substring
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]") else { return false }
            host = text[text.index(after: text.startIndex)..<end]
            let port = text[text.index(after: end)...]
            guard port.isEmpty || port.first == ":" && isPort(port.dropFirst()) else { return false }
        } else {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 1 || parts.count == 2 && isPort(parts[1]) else { return false }
            host = parts[0]
        }
        return !host.isEmpty && !host.contains("[") && !host.contains("]")
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.allSatisfy { $0.isASCII && $0.isNumber } && (1...65535).contains(Int(text) ?? 0)
    }
}
