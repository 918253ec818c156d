import AccelByteIO

/// An address `http://HOST/PATH` or `https://...`, perhaps with a user before the host and a port after it (RFC 3986), without a
/// query or a fragment.
struct ServerAddress {
    /// Without what it says of the user, and without slashes at the end.
    let publicText: String

    /// nil for anything else.
    init?(_ text: String) {
        let isPlain = text.unicodeScalars.allSatisfy {
            $0.value > 32 && $0.value != 127 && !["\"", "\\", "?", "#", "<", ">"].contains($0)
        }
        guard isPlain, let scheme = ["http://", "https://"].first(where: { text.lowercased().hasPrefix($0) }) else {
            return nil
        }
        let rest = text.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" }
        let place = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        guard Self.isPlace(place) else { return nil }
        publicText = Files.trimmingSlashes("\(scheme)\(place)\(rest.dropFirst(authority.count))")
    }

    /// `host`, `host:80`, `[::1]`, `[::1]:80`.
    private static func isPlace(_ text: Substring) -> Bool {
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
