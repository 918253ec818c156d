import AccelByteIO

/// An address `http://HOST[:PORT]/PATH` or `https://...`.
struct HubAddress: Equatable, Sendable {
    let text: String
    /// The scheme, host and port, in lower case. A token may go to the same origin only.
    let origin: String
    var isSecure: Bool { origin.hasPrefix("https:") }

    /// Returns nil for any other text, such as one with a user, white space or a quotation mark.
    init?(_ text: String) {
        let isPlain = text.utf8.allSatisfy { $0 > 32 && $0 < 127 && !"\"\\<>^`{|}#".utf8.contains($0) }
        guard isPlain, let scheme = ["http://", "https://"].first(where: { text.lowercased().hasPrefix($0) }) else {
            return nil
        }
        let host = text.dropFirst(scheme.count).prefix { $0 != "/" && $0 != "?" }
        guard !host.isEmpty, !host.contains("@") else { return nil }
        self.text = text
        origin = scheme + host.lowercased()
    }

    /// Returns the address that a `Location` header leads to; nil for one that is not used.
    func redirected(to location: String) -> HubAddress? {
        let scheme = origin.prefix { $0 != ":" }
        let target =
            switch location {
            case _ where location.hasPrefix("//"): HubAddress("\(scheme):\(location)")
            case _ where location.hasPrefix("/"): HubAddress(origin + location)
            default: HubAddress(location)
            }
        // What was encrypted stays encrypted.
        guard let target, target.isSecure || !isSecure else { return nil }
        return target
    }
}
