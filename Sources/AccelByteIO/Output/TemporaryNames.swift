import AccelPlatform

/// The grammar of temporary names: `.START.DIGITS.partial`. START is the first 40 characters of the output's name. DIGITS
/// are 16 random ones, 8 of the system's boot, 8 of the machine, and 8 of a checksum over all of these and the role: so
/// the name alone proves that accelc made it.
///
/// Earlier versions had 1 to 16 random digits. Such names are recognised, but nothing is concluded from them.
enum TemporaryName {
    /// The content of an entry with a temporary name.
    enum Role: String, CaseIterable {
        /// Written by accelc.
        case draft
        /// Moved there from the output's path, to be replaced; perhaps another program's.
        case replaced
    }

    static let startLength = 40
    private static let suffix = ".partial"
    private static let digits = 16 + 8 + 8 + 8

    /// Returns an unused name for the start of an output's name.
    static func make(_ start: Substring, _ role: Role) -> String {
        let random = String(UInt64.random(in: .min ... .max), radix: 16)
        let padded = String(repeating: "0", count: 16 - random.count) + random
        return make(start, facts: padded + bootTag + machineTag, role)
    }

    private static func make(_ start: some StringProtocol, facts: some StringProtocol, _ role: Role) -> String {
        ".\(start).\(facts)\(tag("accelc \(role.rawValue) \(start).\(facts)"))\(suffix)"
    }

    /// The parts of a temporary name.
    struct Parts {
        let start: Substring
        fileprivate let digits: Substring

        /// Returns nil for a name that is not temporary.
        init?(_ name: String) {
            guard name.hasPrefix("."), name.hasSuffix(suffix) else { return nil }
            let inner = name.dropFirst().dropLast(suffix.count)
            guard let dot = inner.lastIndex(of: ".") else { return nil }
            (start, digits) = (inner[..<dot], inner[inner.index(after: dot)...])
            guard start.count <= startLength, Digest.isHexadecimal(digits, 1...16) || isWhole else { return nil }
        }

        private var isWhole: Bool { Digest.isHexadecimal(digits, TemporaryName.digits...TemporaryName.digits) }

        /// The role that the checksum proves; nil for a name of an earlier version, or of another program.
        var role: Role? {
            guard isWhole else { return nil }
            return Role.allCases.first {
                make(start, facts: digits.dropLast(8), $0).dropFirst(start.utf8.count + 2)
                    .hasPrefix(digits)
            }
        }

        /// Whether the name was made on this machine, so that its locks show whether its process lives. A file system
        /// may be shared with other machines, which this one knows nothing of.
        var isOfThisMachine: Bool {
            isWhole
                && (digits.dropFirst(16).prefix(8) == bootTag && !isUnknown(bootTag)
                    || digits.dropFirst(24).prefix(8) == machineTag && !isUnknown(machineTag))
        }

        /// Returns the name of the same digits in another role.
        func name(_ role: Role) -> String { make(start, facts: digits.dropLast(8), role) }
    }

    private static let unknown = "00000000"
    private static func isUnknown(_ tag: String) -> Bool { tag == unknown }
    private static func tag(_ text: String) -> String { String(SHA256.digest(of: text).description.prefix(8)) }

    private static let bootTag = Files.bootIdentifier.map { tag("boot \($0)") } ?? unknown
    private static let machineTag: String = {
        // Written when a system is installed; images of containers have none, or an empty one.
        guard let file = try? MappedFile("/etc/machine-id").bytes else { return unknown }
        let text = file.withBytes { String(decoding: $0.prefix(32), as: UTF8.self) }
        return Digest.isHexadecimal(text, 32...32) ? tag("machine \(text)") : unknown
    }()
}
