/// The name of one of several files that hold a model's weights, such as `model-00001-of-00002.safetensors`.
struct ShardName {
    private let stem: Substring
    private let digits: Int
    /// From 1.
    let number: Int
    /// The number of all shards.
    let count: Int

    /// Reads a name; nil for one that is no shard's.
    init?(_ name: String) {
        // STEM-NUMBER-of-COUNT.safetensors, where a stem may have hyphens of its own.
        let suffix = ".safetensors"
        guard name.hasSuffix(suffix) else { return nil }
        let parts = name.dropLast(suffix.count).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count > 3, parts[parts.count - 2] == "of",
            let number = Self.number(parts[parts.count - 3]), let count = Self.number(parts[parts.count - 1]),
            (1...9999).contains(count), (1...count).contains(number)
        else { return nil }
        let digits = parts[parts.count - 3]
        let stem = name[..<digits.startIndex].dropLast()
        guard !stem.isEmpty else { return nil }
        (self.stem, self.digits, self.number, self.count) = (stem, digits.count, number, count)
    }

    /// Returns the value of five decimal digits or more; nil for another text.
    private static func number(_ text: Substring) -> Int? {
        text.utf8.count >= 5 && text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
    }

    /// The name of the shard of a number.
    func name(of number: Int) -> String { "\(stem)-\(padded(number))-of-\(padded(count)).safetensors" }

    /// The name of the file that lists the shards.
    var index: String { "\(stem).safetensors.index.json" }

    private func padded(_ number: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(digits - text.count, 0)) + text
    }
}
